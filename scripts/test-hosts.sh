#!/usr/bin/env bash
# Every host language: its own tests, and the scenario that all hosts pass; the client for browsers; one line tells how each went, and what it said when it failed.
# `scripts/test-hosts.sh [languages]`; Java and Kotlin are there by name alone (`make test-jvm`), for what Maven fetches takes its time. The library is WFSTUDIO_LIBRARY, else the debug build.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
logs=$target/hosts
mkdir -p "$logs"
languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=(cpp go ruby php node csharp client)
if [ -z "${WFSTUDIO_LIBRARY:-}" ]; then
    scripts/prepare.sh test
    scripts/test-library.sh
    WFSTUDIO_LIBRARY=$(realpath "$target/debug/libwfstudio.so")
fi
export WFSTUDIO_LIBRARY

failed=()
for language in "${languages[@]}"; do
    began=$SECONDS passed=
    for try in first second; do
        if timeout --kill-after=10 420 "scripts/test-$language.sh" >"$logs/$language.log" 2>&1; then
            echo "$language: passed, $((SECONDS - began)) s"
            passed=yes
            break
        fi
        echo "$language: FAILED at its $try try, $((SECONDS - began)) s; its last lines ($logs/$language.log):"
        tail -n 60 "$logs/$language.log" | sed 's/^/    /'
    done
    [ "$passed" ] || failed+=("$language")
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
