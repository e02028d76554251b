#!/usr/bin/env bash
# Tests the npm package: types, the engine and its mounts in Node.js, the conformance suite in Node.js, Bun and Deno.
# `scripts/test-node.sh quick` leaves the suite out, `… build` only builds, `… packages` only installs what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
WFSTUDIO_LIBRARY=$(realpath "${WFSTUDIO_LIBRARY:-$target/debug/libwfstudio.so}")
export WFSTUDIO_LIBRARY
[ -e "$WFSTUDIO_LIBRARY" ] || { echo "$WFSTUDIO_LIBRARY is missing: build the library first" >&2; exit 1; }
command -v npm >/dev/null || scripts/prepare.sh peers
[ -d "$target/node/node_modules/.bin" ] && PATH=$(cd "$target" && pwd)/node/node_modules/.bin:$PATH

# Another suite may install at the same time.
mkdir -p "$target"
exec 9>"$target/node-packages.lock"
flock 9
cd bindings/node
cmp -s package-lock.json node_modules/.installed || {
    npm ci --silent --no-fund --no-audit --ignore-scripts
    cp package-lock.json node_modules/.installed
}
exec 9>&-
[ "${1:-}" != packages ] || exit 0
[ ! -e "$root/bindings/abi.json" ] || "$root/bindings/generate/node.py" --check
npm run --silent format >/dev/null || { echo "not formatted: npx prettier --write src test host.mjs package.json" >&2; exit 1; }
rm -rf dist
npm run --silent build
[ "${1:-}" != build ] || exit 0

npx tsc -p test
echo "== node $(node --version)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
timeout 300 node --test --test-reporter=tap test/*.test.mjs >"$log" 2>&1 || { grep -vE '^ *(---|\.\.\.|duration_ms.*|ok .*)$' "$log" >&2; exit 1; }
awk '$2 == "pass" {print "test result: ok. " $3 " passed"}' "$log"
[ "${1:-}" != quick ] || exit 0
"$root/scripts/test-packages.sh" node

run=$root/bindings/conformance/run
[ -e "$run" ] || { echo "the conformance suite is not here: left out"; exit 0; }
bun=$PWD/node_modules/@oven/bun-linux-x64/bin/bun
deno=$PWD/node_modules/@deno/linux-x64-glibc/deno
play() { # command, frameworks
    local command=$1 framework
    shift
    for framework in "$@"; do
        FRAMEWORK=$framework "$run" --lang node --framework "$framework" --command "$command $PWD/host.mjs" >"$log" 2>&1 || { grep -v '^ok' "$log" >&2; exit 1; }
        echo "$(basename "${command%% *}") $framework: $(tail -n 1 "$log")"
    done
}
# The mounts of all frameworks have tests above; `SLOW=1` plays the whole scenario in each.
play node http fetch ${SLOW:+express fastify koa nest}
play "$bun" fetch ${SLOW:+http}
DENO_NO_UPDATE_CHECK=1 play "$deno run -A" fetch ${SLOW:+http}
