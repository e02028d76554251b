#!/usr/bin/env bash
# Tests the client for browsers and servers: types, units, what is generated; then the package in an empty TypeScript project, where the README's
# first program is compiled and run against the example host.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
command -v npm >/dev/null || scripts/prepare.sh peers
[ -d "$target/node/node_modules/.bin" ] && PATH=$(cd "$target" && pwd)/node/node_modules/.bin:$PATH
say() { printf '== %s\n' "$*"; }

cd bindings/client
say "types and units"
cmp -s package-lock.json node_modules/.installed || {
    npm ci --silent --no-fund --no-audit --ignore-scripts
    cp package-lock.json node_modules/.installed
}
"$root/bindings/generate/client.py" --check
npm run --silent format >/dev/null || { echo "not formatted: npx prettier --write src test package.json" >&2; exit 1; }
rm -rf dist
npm run --silent build
log=$(mktemp)
empty=$(mktemp -d)
host=
trap '[ -z "$host" ] || kill "$host" 2>/dev/null || true; rm -rf "$log" "$empty"' EXIT
{ npx tsc -p test && timeout 240 node --test --test-reporter=tap test/*.test.mjs; } >"$log" 2>&1 || { grep -vE '^ *(---|\.\.\.|duration_ms.*|ok .*)$' "$log" >&2; exit 1; }
awk '$2 == "pass" {print "test result: ok. " $3 " passed"}' "$log"

say "as a package, in an empty TypeScript project"
npm pack --silent --pack-destination "$empty" >/dev/null
mkdir "$empty/project"
cd "$empty/project"
echo '{"private":true,"type":"module"}' >package.json
npm install --silent --no-fund --no-audit --ignore-scripts "$empty"/wfstudio-client-*.tgz typescript@7.0.2 @types/node@26.6.6
[ "$(find node_modules/@wfstudio/client -name '*.ts' ! -name '*.d.ts' | wc -l)" = 0 ]
"$root/bindings/hello" client >hello.ts
npx tsc --strict --target es2022 --module nodenext --types node hello.ts

example=$target/debug/examples/axum
[ -x "$example" ] || { cd "$root" && "${CARGO:-cargo}" build --quiet --example axum --features "${STUDIO_FEATURES:-header,bindgen}" && cd - >/dev/null; }
port=$("$root/scripts/free-port.py")
STUDIO_ROUTE_PREFIX=studio STUDIO_EXPORT_PATH="$empty/app" "$example" --port "$port" --database "$empty/studio.sqlite" >host.log 2>&1 &
host=$!
export STUDIO_URL=http://127.0.0.1:$port/studio
for _ in $(seq 600); do curl -sf -o /dev/null --max-time 20 "$STUDIO_URL/workflows" && break; kill -0 "$host" 2>/dev/null || break; sleep 0.1; done
cat >seed.mjs <<'SEED'
import { Client } from '@wfstudio/client';
const at = { position: { x: 0, y: 0 } };
const nodes = [{ id: 'a', type: 'start', data: {}, ...at }, { id: 'b', type: 'stop', data: { reply: 'done' }, ...at }];
const edges = [{ id: 'e', source: 'a', target: 'b', sourceHandle: 'default', targetHandle: 'default' }];
const body = { slug: 'draft', name: 'Draft', graph: { version: 1, nodes, edges } };
await new Client({ url: process.env.STUDIO_URL }).call('POST /api/workflows', { body });
SEED
node seed.mjs
timeout 120 node hello.js >said || { cat said host.log >&2; exit 1; }
grep -q "'Draft'" said && grep -q '^trace_completed$' said && grep -q '^rested [0-9a-f-]*$' said || { cat said host.log >&2; exit 1; }
kill "$host"
wait "$host" || true
host=
say "the client is as promised: $(stat -c %s "$empty"/wfstudio-client-*.tgz) bytes packed"
