#!/usr/bin/env bash
# Tests the Python package: its own tests against real servers (uvicorn, Werkzeug, gunicorn), the conformance scenario in every framework,
# the module that uniffi writes. In a virtual environment below the target folder. The library is WFSTUDIO_LIBRARY, else the debug build.
# `scripts/test-python.sh venv` only makes that environment and says where it is.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-target}

if [ -z "${WFSTUDIO_LIBRARY:-}" ]; then
    scripts/prepare.sh test
    scripts/test-library.sh
    WFSTUDIO_LIBRARY=$(cd "$target" && pwd)/debug/libwfstudio.so
fi
export WFSTUDIO_LIBRARY PYTHONPATH=$root/bindings/python PYTHONDONTWRITEBYTECODE=1
work=$target/python-tests
mkdir -p "$work"

venv=$(cd "$work" && pwd)/venv
[ -x "$venv/bin/mypy" ] || {
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r bindings/python/tests/requirements.txt
}
[ "${1:-}" != venv ] || { echo "$venv"; exit 0; }
(cd bindings/python && "$venv/bin/mypy" --strict-equality --warn-unused-ignores --check-untyped-defs --follow-imports=silent --cache-dir "$venv/../mypy" tests/typed.py)
"$venv/bin/pytest" -q -p no:cacheprovider "$root/bindings/python/tests" "$@"
# The last Django that Python 3.9 can run.
old=$(cd "$work" && pwd)/django4
[ -d "$old/django" ] || "$venv/bin/pip" install --quiet --disable-pip-version-check --target "$old" "django<5"
PYTHONPATH=$old:$PYTHONPATH "$venv/bin/pytest" -q -p no:cacheprovider "$root/bindings/python/tests/test_django.py"
for framework in fastapi quart django flask django-wsgi; do
    echo "conformance: python, $framework"
    "$venv/bin/python" bindings/conformance/run --lang python --framework "$framework" >"$work/$framework.tap" || { cat "$work/$framework.tap"; exit 1; }
    tail -n 1 "$work/$framework.tap"
done

env -u PYTHONPATH scripts/test-packages.sh python

# The raw module finds the library beside itself.
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
cp "$root/bindings/python/wfstudio/uniffi/wfstudio.py" "$raw/"
cp "$WFSTUDIO_LIBRARY" "$raw/libwfstudio.so"
cd "$raw" && "$venv/bin/python" - <<'PYTHON'
import json

import wfstudio

engine = wfstudio.StudioEngine.open(json.dumps({"database": {"path": "raw.sqlite"}}))
assert json.loads(engine.call("health", "{}"))["status"] == "ok"
engine.shutdown(1000)
print("uniffi: the raw module opens, asks and closes")
PYTHON
