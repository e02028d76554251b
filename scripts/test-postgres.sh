#!/usr/bin/env bash
# Runs the suites on PostgreSQL: a private cluster on 127.0.0.1, in a temporary folder, stopped and removed at the end.
# Each test has a schema of its own. `scripts/test-postgres.sh [names of tests]` runs only those of the Rust suites,
# `scripts/test-postgres.sh --run COMMAND…` something else on such a cluster.
set -euo pipefail
cd "$(dirname "$0")/.."
# The features with which `make test` builds, so that nothing is built twice.
features=${STUDIO_FEATURES-header,bindgen}
# No suite may take longer than this many seconds, its build included.
most=${STUDIO_TEST_SECONDS:-1200}
say() { printf '== %s on PostgreSQL\n' "$*"; }

programs() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }
[ -n "$(programs)" ] || scripts/debian.sh postgresql openssl
bin="$(programs)"
# Tests make the extension in databases of their own; in all others there is none.
if scripts/install-pgvector.sh; then
    export STUDIO_TEST_PGVECTOR=1
else
    say "pgvector could not be installed, its tests are left out,"
fi

# initdb refuses root, and a cluster's folder must be reachable for its user.
home="$(mktemp -d "${TMPDIR:-/tmp}/studio-postgres.XXXXXX")"
as=()
if [ "$(id -u)" = 0 ]; then
    as=(runuser -u postgres --)
    chown postgres "$home"
fi
export STUDIO_TEST_POSTGRES="$home/restart"
end() {
    "${as[@]}" "$bin/pg_ctl" -D "$home/data" -m immediate stop >/dev/null 2>&1 || true
    rm -rf "$home"
}
trap end EXIT

port=$(scripts/free-port.py)
"${as[@]}" "$bin/initdb" -D "$home/data" -A trust -U studio -E UTF8 --locale=C.UTF-8 --no-sync >/dev/null
cat >>"$home/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$home'
max_connections = 400
fsync = ${STUDIO_TEST_FSYNC:-off} # processes die here, not the machine
ssl = on
ssl_cert_file = '$home/cert.pem'
ssl_key_file = '$home/key.pem'
CONF
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE \
    -keyout "$home/key.pem" -out "$home/cert.pem" 2>/dev/null
chmod 644 "$home/cert.pem"
chmod 600 "$home/key.pem"
[ "$(id -u)" != 0 ] || chown postgres "$home/key.pem"
chmod 711 "$home"
export STUDIO_TEST_POSTGRES_CERTIFICATE="$home/cert.pem"
"${as[@]}" "$bin/pg_ctl" -D "$home/data" -w -t 300 -l "$home/log" start >/dev/null
# What the crash tests call to kill the server in mid run and start it again.
cat >"$STUDIO_TEST_POSTGRES" <<RESTART
#!/bin/sh
exec ${as[*]} "$bin/pg_ctl" -D "$home/data" -m immediate -w -t 300 -l "$home/log" restart >/dev/null
RESTART
chmod 755 "$STUDIO_TEST_POSTGRES"

export STUDIO_TEST_DATABASE_URL="postgres://studio@127.0.0.1:$port/postgres?sslmode=disable"
cargo=(timeout --kill-after=10 "$most" "${CARGO:-cargo}")
suite() { "${cargo[@]}" test --quiet ${features:+--features "$features"} "$@"; }
if [ "${1:-}" = --run ]; then
    shift
    "$@"
    exit
fi
if [ $# -gt 0 ]; then
    suite --lib --test it --test crash -- "$@"
    exit
fi
# The first one kills the server, which the others would notice.
say "a server that dies"
suite --test crash -- --ignored server::
say "the Rust suites, but for what has no database"
suite --lib -- --skip providers:: --skip model:: --skip config::
suite --test it --test crash -- --skip tidy:: --skip caches:: --skip codegen::round_trips --skip knowledge::pdf --skip mcp::program
say "forks"
STUDIO_FEATURES=$features scripts/test-library.sh
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
ln -sf libwfstudio.so "$target/debug/libwfstudio.so.1" # what programs ask for by name
gcc -std=gnu11 -O1 -Wall -Wextra -Werror -pedantic -g -Iinclude -Itests/c tests/c/fork.c -o "$target/debug/fork-on-server" -L"$target/debug" -lwfstudio -lpthread
LD_LIBRARY_PATH="$target/debug" timeout "$most" "$target/debug/fork-on-server" 40
# Processes that are killed while runs go through.
say "a small storm"
STUDIO_FEATURES="$features" STUDIO_CHAOS_RUNS=200 timeout --kill-after=10 "$most" scripts/test-chaos.sh
