#!/usr/bin/env bash
# Tests the pages: types, units, the committed build byte for byte, sizes; then the gates in a real browser against the example host,
# mounted at /studio, at /a/b/c, and behind a proxy that takes a prefix away.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/ui-tests"
work=$(cd "$target/ui-tests" && pwd)

scripts/prepare.sh ui
PATH=$(cd "$target" && pwd)/node/node_modules/.bin:$PATH
say() { printf '== %s\n' "$*"; }

cd ui
say "packages"
npm ci --silent --no-fund --no-audit
say "types and units"
npm run --silent format
npm run --silent check
npm run --silent lint
(cd ../bindings/client && PATH=$root/ui/node_modules/.bin:$PATH oxlint -c "$root/ui/.oxlintrc.json" src)
npm run --silent test
say "the committed build"
npm run --silent build >/dev/null
git diff --exit-code --stat -- dist || { echo "ui/dist is not as built: run \`npm run build\` in ui/ and commit it" >&2; exit 1; }
npm run --silent sizes
cd "$root"
[ "${STUDIO_BROWSER:-1}" = 0 ] && exit 0

"${CARGO:-cargo}" build --quiet --example axum --features "${STUDIO_FEATURES:-header,bindgen}"
free_port() { "$root/scripts/free-port.py"; }
# Pictures of what failed.
export SHOTS=$work/pictures
mkdir -p "$SHOTS"
pids=()
trap 'for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done' EXIT
host() { # port, prefix: the example host on a database of its own
    rm -rf "$work/$1".sqlite* "$work/$1-app"
    STUDIO_ROUTE_PREFIX=$2 STUDIO_EXPORT_PATH="$work/$1-app" "$target/debug/examples/axum" --port "$1" --database "$work/$1.sqlite" >"$work/$1.log" 2>&1 &
    pids+=($!)
    for _ in $(seq 600); do curl -sf -o /dev/null --max-time 20 "http://127.0.0.1:$1/$2/workflows" && return; kill -0 "${pids[-1]}" 2>/dev/null || break; sleep 0.1; done
    cat "$work/$1.log" >&2
    exit 1
}

say "the gates at /studio"
port=$(free_port)
host "$port" studio
# Figures of the scale gate depend on the machine: `SCALE=1` asks for it.
gates=(routes keyboard chat welcome codegen forms loss editor)
[ "${SCALE:-0}" = 1 ] && gates+=(scale)
STUDIO_URL=http://127.0.0.1:$port/studio node ui/tests/e2e/run.mjs "${gates[@]}"

say "the routes at /a/b/c, and behind a proxy that takes a prefix away"
deep=$(free_port)
host "$deep" a/b/c
proxy=$(free_port)
mkdir -p "$work/nginx"
cat >"$work/nginx.conf" <<CONF
worker_processes 1; pid $work/nginx/pid; error_log $work/nginx/error.log; daemon off;
events {}
http {
  access_log off;
  client_body_temp_path $work/nginx; proxy_temp_path $work/nginx; fastcgi_temp_path $work/nginx; uwsgi_temp_path $work/nginx; scgi_temp_path $work/nginx;
  server {
    listen 127.0.0.1:$proxy;
    location / { return 404; } # not what files it may read here
    location /tenant-7/ai/ { proxy_pass http://127.0.0.1:$port/studio/; proxy_set_header Host \$http_host; }
  }
}
CONF
nginx -c "$work/nginx.conf" -p "$work" 2>/dev/null &
pids+=($!)
for _ in $(seq 600); do curl -sf -o /dev/null --max-time 20 "http://127.0.0.1:$proxy/tenant-7/ai/workflows" && break; sleep 0.1; done
LIGHT=1 STUDIO_URL=http://127.0.0.1:$deep/a/b/c node ui/tests/e2e/run.mjs routes &
at_depth=$!
LIGHT=1 STUDIO_URL=http://127.0.0.1:$proxy/tenant-7/ai node ui/tests/e2e/run.mjs routes
wait "$at_depth"
