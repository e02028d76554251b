#!/usr/bin/env bash
# Tests the Python package against real servers: FastAPI under uvicorn, Flask; in a virtual environment under the target folder.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-target}

scripts/prepare.sh test
cargo build --quiet --lib --features "${STUDIO_FEATURES:-header,bindgen}"
work=$target/python-tests
mkdir -p "$work/package"
cp -r bindings/python/wfstudio "$work/package/"
cp "$target/debug/libwfstudio.so" "$work/package/wfstudio/native/"

venv=$work/venv
[ -x "$venv/bin/pytest" ] || {
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check fastapi flask httpx pytest uvicorn
}
PYTHONPATH=$(cd "$work/package" && pwd) "$venv/bin/pytest" -q -p no:cacheprovider "$root/bindings/python/tests" "$@"
