#!/usr/bin/env bash
# Asks the package genai-prices (PyPI), installed under the target folder, what calls cost, and compares with the answers that tests hold the studio to.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/peers.sh
version=0.2.3
answers=tests/it/usage/oracle.json

python_peer prices "genai-prices==$version"
"$peers/prices/bin/python" scripts/price-oracle.py >"$peers/prices.json"
if [ "${1:-}" = "--write" ]; then
    cp "$peers/prices.json" "$answers"
elif ! diff -u "$answers" "$peers/prices.json"; then
    echo "the answers in $answers are not those of genai-prices $version; look at the difference, then: scripts/test-prices.sh --write" >&2
    exit 1
fi
program=$(test_program it)
timeout 120 "$program" usage::oracle usage::embeddings usage::paths
