#!/usr/bin/env bash
# Packs @wfstudio/client, @wfstudio/host and @wfstudio/lib-linux-x64: node.sh <library> <version> <folder>.
set -euo pipefail
cd "$(dirname "$0")/../.."
library=$1 version=$2 folder=$3
target=${CARGO_TARGET_DIR:-$PWD/target}
[ -d "$target/node/node_modules/.bin" ] && PATH=$(cd "$target" && pwd)/node/node_modules/.bin:$PATH
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for package in client node node/lib-linux-x64; do
    [ "$(node -p "require('./bindings/$package/package.json').version")" = "$version" ] || { echo "bindings/$package/package.json is not $version" >&2; exit 1; }
done
for package in client node; do
    (
        cd "bindings/$package"
        [ -x node_modules/.bin/tsc ] || npm ci --silent --no-fund --no-audit --ignore-scripts
        rm -rf dist
        cp ../../LICENSE . && trap 'rm -f LICENSE' EXIT
        npm run --silent build
        npm pack --silent --pack-destination "$folder" >/dev/null
    )
done
cp -r bindings/node/lib-linux-x64 "$work/lib"
cp LICENSE "$work/lib/"
cp "$library" "$work/lib/libwfstudio.so"
(cd "$work/lib" && npm pack --silent --pack-destination "$folder" >/dev/null)
