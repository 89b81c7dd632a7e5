#!/usr/bin/env bash
# A throw-away PostgreSQL for the tests, from the installed binaries (installed with apt-get when they are missing).
#
#   export "$(.ci/postgres.sh start)"    prints TEST_POSTGRES_URL=…; a server that already runs is used again
#   .ci/postgres.sh stop                 stops it and removes its files
#
# Everybody on this machine may connect to it, and it keeps nothing over a crash: never put data there.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
state=$root/.test-env/postgres # holds the server's directory and port

say() { echo "postgres: $*" >&2; }

# Memory where there is enough of it: a server that keeps nothing has no use for a disk, and its files go away at once.
place() {
    local free
    free=$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)
    if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] && [ "${free:-0}" -gt 4194304 ]; then echo /dev/shm; else echo "${TMPDIR:-/tmp}"; fi
}

# The newest installed ones.
binaries() { find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1; }

install_binaries() {
    say "no binaries under /usr/lib/postgresql, installing the package postgresql"
    local sudo=()
    [ "$(id -u)" = 0 ] || sudo=(sudo -n)
    "${sudo[@]}" apt-get update >&2
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql >&2
}

# PostgreSQL refuses to run as root.
as_server() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=postgres --regid=postgres --clear-groups env HOME="$dir" "$@"
    else
        "$@"
    fi
}

# Whether the server of the state file runs; sets dir, port and pid.
running() {
    [ -f "$state" ] || return 1
    read -r dir port <"$state"
    [ -f "$dir/data/postmaster.pid" ] || return 1
    pid=$(head -n 1 "$dir/data/postmaster.pid")
    kill -0 "$pid" 2>/dev/null
}

print_url() { echo "TEST_POSTGRES_URL=postgres://postgres@127.0.0.1:$port/postgres"; }

server_options() {
    printf -- '-c %s ' fsync=off synchronous_commit=off full_page_writes=off autovacuum=off max_connections=300 \
        listen_addresses=127.0.0.1 "port=$port" "unix_socket_directories=$dir"
}

start() {
    if running; then
        print_url
        return
    fi
    [ -n "$(binaries)" ] || install_binaries
    local bin try
    bin=$(binaries)
    [ -n "$bin" ] || { say "still no binaries"; exit 1; }
    dir=$(mktemp -d "$(place)/chancery-postgres.XXXXXX")
    [ "$(id -u)" != 0 ] || chown postgres:postgres "$dir"
    cd "$dir"
    as_server "$bin/initdb" --no-sync -A trust -U postgres -E UTF8 --locale=C.UTF-8 -D "$dir/data" >"$dir/initdb.log" 2>&1 ||
        { cat "$dir/initdb.log" >&2; rm -rf "$dir"; exit 1; }
    for try in 1 2 3 4 5; do
        port=$((20000 + RANDOM % 12000)) # below the range from which the kernel gives ports away
        if as_server "$bin/pg_ctl" start -w -t 30 -s -D "$dir/data" -l "$dir/data/log" -o "$(server_options)" >&2 </dev/null; then
            mkdir -p "$(dirname "$state")"
            echo "$dir $port" >"$state"
            print_url
            return
        fi
        say "port $port did not do (try $try)"
    done
    cat "$dir/data/log" >&2
    rm -rf "$dir"
    exit 1
}

stop() {
    if running; then
        kill -INT "$pid"
        for _ in $(seq 100); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        ! kill -0 "$pid" 2>/dev/null || kill -QUIT "$pid"
    fi
    if [ -f "$state" ]; then
        read -r dir port <"$state"
        case $dir in */chancery-postgres.??????) rm -rf "$dir" ;; esac
        rm -f "$state"
    fi
}

case ${1:-} in
start) start ;;
stop) stop ;;
*)
    echo "usage: $0 start | stop" >&2
    exit 2
    ;;
esac
