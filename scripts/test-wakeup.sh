#!/usr/bin/env bash
# Plays the wake-up of streams, which every event loop of a host stands on, in every order of its threads (`tests/wakeup`, with loom).
# `scripts/test-wakeup.sh closed` plays the models whose names contain that.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
exec "${CARGO:-cargo}" run --quiet --locked --manifest-path tests/wakeup/Cargo.toml --target-dir "$target/wakeup" -- "$@"
