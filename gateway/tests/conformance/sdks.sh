# The official SDKs in the ignored folder .test-env, exactly as pinned. Sourced; needs $env_dir, that folder.
sdks=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

need() { # need COMMAND PACKAGE…: installs Debian packages when the command is missing and we may
  local command=$1; shift
  "$command" --version >/dev/null 2>&1 || install "$@"
}

install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "conformance: install $* first" >&2; exit 2; }
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qqy "$@" >/dev/null
}

python_env() { # python_env VERSION: a virtual environment with exactly the pinned list
  local folder=$env_dir/python-$1 list=$sdks/requirements-python-$1.txt
  cmp -s "$list" "$folder/installed.txt" && return
  rm -rf "$folder"
  python3 -m venv "$folder" 2>/dev/null || { install python3-venv; python3 -m venv --clear "$folder"; }
  "$folder/bin/pip" install --quiet --no-deps --requirement "$list"
  "$folder/bin/pip" check --quiet
  cp "$list" "$folder/installed.txt"
}

js_env() {
  local folder=$env_dir/js-1.3
  mkdir -p "$folder"
  if ! cmp -s "$sdks/js_1_3/package-lock.json" "$folder/installed.json"; then
    cp "$sdks"/js_1_3/{package.json,package-lock.json,.npmrc} "$folder/"
    (cd "$folder" && npm ci --silent)
    cp "$folder/package-lock.json" "$folder/installed.json"
  fi
  # Modules are looked for from where the importing file lies.
  cp "$sdks"/js_1_3/*.mjs "$folder/"
  cp "$sdks"/js_0_3/drive.mjs "$folder/drive_0_3.mjs"
}

need_sdks() { # what their environments are made with
  need python3 python3 python3-venv
  need node nodejs npm
  need npm npm
  [ "$(node --print 'process.versions.node.split(".")[0]')" -ge 20 ] || { echo "conformance: needs Node 20" >&2; exit 2; }
  mkdir -p "$env_dir"
}
