#!/usr/bin/env bash
# Packs @wfstudio/host and @wfstudio/lib-linux-x64 into a folder (the first argument, else below the target folder), then installs them into an
# empty project without scripts and runs the hello host of the README there: one request, one stream, the end with 0.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
library=$(realpath "${WFSTUDIO_LIBRARY:-$target/debug/libwfstudio.so}")
packed=${1:-$target/npm}
mkdir -p "$packed"
packed=$(cd "$packed" && pwd)
rm -f "$packed"/*.tgz
empty=$(mktemp -d)
host=
trap '[ -z "$host" ] || kill "$host" 2>/dev/null || true; rm -rf "$empty"' EXIT

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
for manifest in bindings/node/package.json bindings/node/lib-linux-x64/package.json; do
    [ "$(node -p "require('$root/$manifest').version")" = "$version" ] || { echo "$manifest is not $version" >&2; exit 1; }
done
cp -r bindings/node/lib-linux-x64 "$empty/lib"
cp "$library" "$empty/lib/libwfstudio.so"
strip --strip-debug "$empty/lib/libwfstudio.so"
(cd bindings/node && rm -rf dist && npm run --silent build && npm pack --silent --pack-destination "$packed")
(cd "$empty/lib" && npm pack --silent --pack-destination "$packed")

mkdir "$empty/project"
cd "$empty/project"
unset WFSTUDIO_LIBRARY
echo '{"private":true,"type":"module"}' >package.json
npm install --silent --no-fund --no-audit --ignore-scripts "$packed"/wfstudio-lib-linux-x64-*.tgz "$packed"/wfstudio-host-*.tgz express
# The first program of the README, as it stands.
awk '/^```js/ {inside = 1; next} /^```/ {inside = 0} inside' "$root/bindings/node/README.md" | sed '/^\/\/ ---/q' >hello.mjs
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
STUDIO_ENV=local PORT=$port node hello.mjs >host.log 2>&1 &
host=$!
for _ in $(seq 100); do curl -sf -o /dev/null "http://127.0.0.1:$port/studio/workflows" && break; sleep 0.1; done
curl -sf "http://127.0.0.1:$port/studio/api/workflows" | grep -q '"data"' || { cat host.log >&2; exit 1; }
graph='{"slug":"draft","name":"Draft","graph":{"version":1,"nodes":[{"id":"a","type":"start","position":{"x":0,"y":0},"data":{}},{"id":"b","type":"stop","position":{"x":0,"y":0},"data":{"reply":"done"}}],"edges":[{"id":"e","source":"a","target":"b","sourceHandle":"default","targetHandle":"default"}]}}'
curl -sf -o /dev/null -H 'Content-Type: application/json' -d "$graph" "http://127.0.0.1:$port/studio/api/workflows"
curl -sfN -H 'Content-Type: application/json' -d '{"message":"hi"}' "http://127.0.0.1:$port/studio/workflows/draft/run/stream" | grep -q 'event: trace_completed' || { cat host.log >&2; exit 1; }
kill -TERM "$host"
code=0
wait "$host" || code=$?
host=
[ "$code" = 0 ] || { echo "the host ended with $code" >&2; exit 1; }
ls -l "$packed"/*.tgz | awk '{print $5, $9}'
