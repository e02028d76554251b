#!/usr/bin/env bash
# Chaos: hosts and workers as processes on one database, killed, stopped, cut off, while runs go through; on one file and on PostgreSQL.
# `STUDIO_CHAOS_RUNS=200 scripts/test-chaos.sh [sqlite|postgres]`; 2,000 runs by default. `measure` measures instead, in calm weather.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo="${CARGO:-cargo}"
features=(${STUDIO_FEATURES:+--features "$STUDIO_FEATURES"})
storm=("$cargo" test --quiet "${features[@]}" --test chaos -- --ignored --nocapture --test-threads=1)

"$cargo" build --quiet "${features[@]}" --example axum
case "${1:-all}" in
sqlite) "${storm[@]}" a_file ;;
postgres)
    if [ -n "${STUDIO_TEST_POSTGRES:-}" ]; then "${storm[@]}" a_server; else scripts/test-postgres.sh --run "${storm[@]}" a_server; fi
    ;;
measure)
    "${storm[@]}" measured
    STUDIO_TEST_FSYNC=on scripts/test-postgres.sh --run "${storm[@]}" measured
    ;;
all)
    "$0" sqlite
    "$0" postgres
    ;;
esac
