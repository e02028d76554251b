#!/usr/bin/env bash
# Lints the workflows of CI and releases: syntax, expressions, types (actionlint), permissions, injections, pins (zizmor, offline).
set -euo pipefail
cd "$(dirname "$0")/.."
tools=${CARGO_TARGET_DIR:-$PWD/target}/workflows
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)
command -v shellcheck >/dev/null || scripts/prepare.sh workflows
[ -x "$tools/actionlint" ] || GOBIN=$tools go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.9
[ -x "$tools/venv/bin/zizmor" ] || {
    python3 -m venv "$tools/venv"
    "$tools/venv/bin/pip" install --quiet --disable-pip-version-check zizmor==1.32.0
}
"$tools/actionlint" .github/workflows/*.yml
"$tools/venv/bin/zizmor" --offline --no-progress --persona pedantic .github/workflows
# Nothing that others could change later runs here.
if grep -n 'uses:' .github/workflows/*.yml; then echo 'an action of others is used' >&2; exit 1; fi
# What the steps call is there.
for script in $(grep -oh 'scripts/[a-z0-9-]*\.sh' .github/workflows/*.yml | sort -u); do [ -x "$script" ] || { echo "$script is missing" >&2; exit 1; }; done
for target in $(sed -n 's/.*run: make \([a-z-]*\)$/\1/p' .github/workflows/*.yml); do grep -q "^$target:" Makefile || { echo "make $target is missing" >&2; exit 1; }; done
scripts/test-publish.py
echo "the workflows are as they should be"
