#!/usr/bin/env bash
# The suites against programs that others wrote, one after another, each with a time that it may take: one line tells how each went,
# and what it said when it failed. `scripts/test-peers.sh [names of suites]`.
set -euo pipefail
cd "$(dirname "$0")/.."
export STUDIO_FEATURES="${STUDIO_FEATURES-header,bindgen}" RUST_BACKTRACE=0
logs="${CARGO_TARGET_DIR:-target}/peers/logs"
mkdir -p "$logs"
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(prices knowledge mcp adapters providers)

scripts/prepare.sh peers
failed=()
for suite in "${suites[@]}"; do
    began=$SECONDS
    if timeout --kill-after=10 900 "scripts/test-$suite.sh" >"$logs/$suite.log" 2>&1; then
        tests=$(awk '/^test result: ok/ {sum += $4} END {print sum + 0}' "$logs/$suite.log")
        echo "$suite: passed, $tests tests, $((SECONDS - began)) s"
    else
        echo "$suite: FAILED after $((SECONDS - began)) s; its last lines ($logs/$suite.log):"
        tail -n 60 "$logs/$suite.log" | sed 's/^/    /'
        failed+=("$suite")
    fi
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
