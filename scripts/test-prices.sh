#!/usr/bin/env bash
# Asks the package genai-prices (PyPI), installed under the target folder, what calls cost, and compares with the answers that tests hold the studio to.
set -euo pipefail
cd "$(dirname "$0")/.."
place="${CARGO_TARGET_DIR:-target}/peers/prices"
version=0.2.3
answers=tests/it/usage/oracle.json

if ! "$place/bin/python" -c "import importlib.metadata as m; assert m.version('genai-prices') == '$version'" 2>/dev/null; then
    mkdir -p "$place"
    python3 -m venv "$place"
    "$place/bin/pip" install --quiet --disable-pip-version-check "genai-prices==$version"
fi
"$place/bin/python" scripts/price-oracle.py >"$place/answers.json"
if [ "${1:-}" = "--write" ]; then
    cp "$place/answers.json" "$answers"
elif ! diff -u "$answers" "$place/answers.json"; then
    echo "the answers in $answers are not those of genai-prices $version; look at the difference, then: scripts/test-prices.sh --write" >&2
    exit 1
fi
