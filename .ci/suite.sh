# Sourced by the scripts here: `suite NAME COMMAND…` runs a suite, keeps its minutes, stops at the first failure.
suite_lines=""
suite() {
  local name=$1 began
  shift
  echo
  echo "==> $name"
  began=$(date +%s)
  if ! "$@"; then
    echo "==> $name FAILED"
    print_suites
    exit 1
  fi
  suite_lines+=$(awk -v s=$(($(date +%s) - began)) -v n="$name" 'BEGIN { printf "%6.1f min  %s", s / 60, n }')$'\n'
}
print_suites() {
  echo
  echo "minutes per suite:"
  printf '%s' "$suite_lines"
}

# What is left out of a usual build and tested all the same. That the usual build is sound too, a lint of its own shows.
features=(--features chancery/cedar)
