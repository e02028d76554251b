#!/usr/bin/env bash
# The bundled price table is what the pinned packages give, byte for byte, and so are the costs that tests hold the studio to.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/peers.sh
made="$peers/prices/made"
mkdir -p "$made"
scripts/prices.sh "$made"
for file in src/model/prices/bundled.json tests/it/usage/oracle.json; do
    if ! diff -u "$file" "$made/$(basename "$file")"; then
        echo "$file is not what the packages of scripts/prices/pins.txt give; look at the difference, then: make prices" >&2
        exit 1
    fi
done
echo "the price table is that of $(sed -n 2,3p scripts/prices/pins.txt | paste -sd' ')"
program=$(test_program it)
timeout 120 "$program" usage::oracle usage::embeddings usage::paths
