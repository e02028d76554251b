#!/usr/bin/env bash
# Chats with the studio through the clients of the stream adapters: `Chat` of the AI SDK (ai@6, ai@7) and `HttpAgent` of AG-UI (npm),
# installed under the target folder as tests/adapters/package-lock.json names them, against the example host with scripted models.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/peers.sh

place="$peers/adapters"
mkdir -p "$place"
if ! cmp -s tests/adapters/package-lock.json "$place/installed"; then
    cp tests/adapters/package.json tests/adapters/package-lock.json "$place/"
    (cd "$place" && timeout 600 npm ci --silent --no-audit --no-fund --engine-strict=false)
    cp tests/adapters/package-lock.json "$place/installed"
fi
cp tests/adapters/*.mjs "$place/"

cargo="${CARGO:-cargo}"
"$cargo" build --quiet ${STUDIO_FEATURES:+--features "$STUDIO_FEATURES"} --example axum
port=$(free_port)
rm -f "$place"/studio.sqlite*
start host "${CARGO_TARGET_DIR:-target}/debug/examples/axum" --port "$port" --config tests/adapters/config.json --database "$place/studio.sqlite"
wait_for host "$port" 20 /studio/api/settings

node="$place/node_modules/node/bin/node"
failed=0
STUDIO_URL="http://127.0.0.1:$port" timeout 200 "$node" --test --test-reporter=spec "$place/vercel.mjs" "$place/agui.mjs" >"$place/tests.log" 2>&1 || failed=1
cat "$place/tests.log"
passed=$(awk '$2 == "pass" {print $3}' "$place/tests.log")
[ "$failed" = 0 ] || { echo "the adapters' clients failed" >&2; exit 1; }
echo "test result: ok. $passed passed"
