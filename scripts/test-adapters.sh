#!/usr/bin/env bash
# Chats with the studio through the clients of the stream adapters: `Chat` of the AI SDK (ai@6, ai@7) and `HttpAgent` of AG-UI (npm),
# installed under the target folder as tests/adapters/package-lock.json names them, against the example host with scripted models and the conformance hosts of other languages:
# `scripts/test-adapters.sh [rust] [node] [python] [php]`, all four without a name. The library of the last three is WFSTUDIO_LIBRARY, else the debug build.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/peers.sh

place="$peers/adapters"
mkdir -p "$place"
if ! cmp -s tests/adapters/package-lock.json "$place/installed"; then
    cp tests/adapters/package.json tests/adapters/package-lock.json "$place/"
    (cd "$place" && install npm ci --silent --no-audit --no-fund --engine-strict=false)
    cp tests/adapters/package-lock.json "$place/installed"
fi
cp tests/adapters/*.mjs "$place/"

hosts=("$@")
[ $# -gt 0 ] || hosts=(rust node python php)
root=$PWD
node="$place/node_modules/node/bin/node"
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
python3 - "$place" <<'END'
import json, sys
config = json.load(open("tests/adapters/config.json"))
config["database"] = {"path": sys.argv[1] + "/studio.sqlite"}
json.dump(config, open(sys.argv[1] + "/config.json", "w"))
END

if [ -z "${WFSTUDIO_LIBRARY:-}" ]; then
    scripts/test-library.sh
    export WFSTUDIO_LIBRARY=$target/debug/libwfstudio.so
fi
# The example host in Rust, or the conformance host of another language, which is told by headers who asks.
host() { # language, port
    rm -rf "$place"/studio.sqlite* "$place"/server
    local told=(env PORT="$2" DATABASE="$place/studio.sqlite" CONFIG="$place/config.json" WFSTUDIO_LIBRARY="$WFSTUDIO_LIBRARY")
    case $1 in
        rust)
            [ -x "$target/debug/examples/axum" ] || scripts/test-library.sh
            start rust "$target/debug/examples/axum" --port "$2" --config tests/adapters/config.json --database "$place/studio.sqlite"
            ;;
        node)
            scripts/test-node.sh packages
            # A build of its own: the suite of Node.js may run meanwhile, and builds anew.
            rm -rf "$place/host-node"
            mkdir "$place/host-node"
            cp -r bindings/node/{src,test,host.mjs,package.json,tsconfig.json} "$place/host-node/"
            ln -s "$root/bindings/node/node_modules" "$place/host-node/node_modules"
            (cd "$place/host-node" && node_modules/.bin/tsc -p tsconfig.json)
            start node "${told[@]}" FRAMEWORK=express "$(command -v node)" "$place/host-node/host.mjs"
            ;;
        python) start python "${told[@]}" PYTHONPATH="$root/bindings/python" "$(scripts/test-python.sh venv)/bin/python" "$root/bindings/python/host.py" ;;
        php)
            scripts/test-php.sh packages
            start php "${told[@]}" php "$root/bindings/php/host.php"
            ;;
        *) echo "test-adapters: rust, node, python or php" >&2; exit 2 ;;
    esac
}

failed=() passed=0
for language in "${hosts[@]}"; do
    port=$(free_port)
    host "$language" "$port"
    wait_for "$language" "$port" 60 "$([ "$language" = rust ] && echo /studio/api/settings || echo /own/ping)"
    headers='{}'
    [ "$language" = rust ] || headers='{"x-user":"ada","x-gate":"open","x-authorized":"yes"}'
    STUDIO_URL="http://127.0.0.1:$port" STUDIO_HEADERS=$headers timeout 400 "$node" --test --test-reporter=spec "$place/vercel.mjs" "$place/agui.mjs" >"$place/tests.log" 2>&1 || failed+=("$language")
    cat "$place/tests.log"
    good=$(awk '$2 == "pass" {print $3}' "$place/tests.log")
    passed=$((passed + ${good:-0}))
    echo "host $language: ${good:-0} passed"
    end
    started=()
done
[ ${#failed[@]} = 0 ] || { echo "the adapters' clients failed against: ${failed[*]}" >&2; exit 1; }
echo "test result: ok. $passed passed"
