#!/usr/bin/env bash
# Every host language: its own tests, and the scenario that all hosts pass; one line tells how each went, and what it said when it failed.
# `scripts/test-hosts.sh [languages]`. The library is WFSTUDIO_LIBRARY, else the debug build.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
logs=$target/hosts
mkdir -p "$logs"
languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=(cpp go ruby php node csharp jvm)
if [ -z "${WFSTUDIO_LIBRARY:-}" ]; then
    scripts/prepare.sh test
    cargo build --quiet --lib --features "${STUDIO_FEATURES:-header,bindgen}"
    WFSTUDIO_LIBRARY=$(realpath "$target/debug/libwfstudio.so")
fi
export WFSTUDIO_LIBRARY

failed=()
for language in "${languages[@]}"; do
    began=$SECONDS
    if timeout --kill-after=10 420 "scripts/test-$language.sh" >"$logs/$language.log" 2>&1; then
        echo "$language: passed, $((SECONDS - began)) s"
    else
        echo "$language: FAILED after $((SECONDS - began)) s; its last lines ($logs/$language.log):"
        tail -n 60 "$logs/$language.log" | sed 's/^/    /'
        failed+=("$language")
    fi
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
