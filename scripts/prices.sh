#!/usr/bin/env bash
# Makes the bundled tables of prices and of models, and what genai-prices says that calls cost, from packages of PyPI installed under the target folder.
#   prices.sh            from the newest packages, as of today; commit what it changes
#   prices.sh <folder>   from the packages that are pinned, into a folder
#   prices.sh models     the table of models alone, from the packages that are pinned
set -euo pipefail
cd "$(dirname "$0")/.."
place="${CARGO_TARGET_DIR:-target}/peers/prices"
pins=scripts/prices/pins.txt
python="$place/bin/python"
mkdir -p "$place"
[ -x "$python" ] || python3 -m venv "$place"
pip() { "$python" -m pip --disable-pip-version-check --quiet "$@"; }
pinned() { sed -n "s/^$1==//p" "$pins"; }
installed() { "$python" -c 'import importlib.metadata as m, sys; print(m.version(sys.argv[1]))' "$1" 2>/dev/null; }

# LiteLLM's list alone is kept of its package.
take_list() {
    local folder="$place/wheel"
    rm -rf "$folder"
    pip download --no-deps --dest "$folder" "$1"
    "$python" - "$folder" "$place" <<'END'
import pathlib, sys, zipfile

wheel = next(pathlib.Path(sys.argv[1]).glob("litellm-*.whl"))
version = wheel.name.split("-")[1]
listed = zipfile.ZipFile(wheel).read("litellm/model_prices_and_context_window_backup.json")
(pathlib.Path(sys.argv[2]) / f"litellm-{version}.json").write_bytes(listed)
print(version)
END
    rm -rf "$folder"
}

if [ $# = 0 ]; then
    pip install --upgrade genai-prices
    listed=$(take_list litellm)
    printf '%s\n' "# The packages that the bundled price table is made from, and its day: $(date -u +%F)" \
        "genai-prices==$(installed genai-prices)" "litellm==$listed" >"$pins"
    table=src/model/prices/bundled.json answers=tests/it/usage/oracle.json models=src/model/registry/bundled.json
else
    [ "$(installed genai-prices)" = "$(pinned genai-prices)" ] || pip install "genai-prices==$(pinned genai-prices)"
    [ -e "$place/litellm-$(pinned litellm).json" ] || take_list "litellm==$(pinned litellm)" >/dev/null
    table="$1/bundled.json" answers="$1/oracle.json" models="$1/models.json"
fi
export PYTHONDONTWRITEBYTECODE=1
day=$(sed -n 's/^#.* //p' "$pins") list="$place/litellm-$(pinned litellm).json"
[ "${1:-}" != models ] || models=src/model/registry/bundled.json
"$python" scripts/models/table.py "$day" "$list" >"$models.new"
mv "$models.new" "$models"
[ "${1:-}" != models ] || exit 0
"$python" scripts/prices/make.py "$day" "$list" >"$table.new"
mv "$table.new" "$table"
"$python" scripts/prices/oracle.py "$table" >"$answers.new"
mv "$answers.new" "$answers"
