#!/usr/bin/env bash
# The bundled tables of prices and models are what the pinned packages give, byte for byte, and so are the costs that tests hold the studio to.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/peers.sh
made="$peers/prices/made"
mkdir -p "$made"
scripts/prices.sh "$made"
for pair in src/model/prices/bundled.json:bundled tests/it/usage/oracle.json:oracle src/model/registry/bundled.json:models; do
    file=${pair%:*}
    if ! diff -u "$file" "$made/${pair#*:}.json"; then
        echo "$file is not what the packages of scripts/prices/pins.txt give; look at the difference, then: make prices, or make models" >&2
        exit 1
    fi
done
echo "the tables of prices and models are those of $(sed -n 2,3p scripts/prices/pins.txt | paste -sd' ')"
program=$(test_program it)
timeout 120 "$program" usage::oracle usage::embeddings usage::paths
