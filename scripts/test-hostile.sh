#!/usr/bin/env bash
# What hostile definitions may cost: each trial in a process with little memory and a small stack. `debug` instead of an optimised build is quicker to make.
set -euo pipefail
cd "$(dirname "$0")/.."
kind=(--release)
[ "${1:-}" = debug ] && kind=()
"${CARGO:-cargo}" test "${kind[@]}" --features fuzzing --test hostile
