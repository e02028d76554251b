#!/usr/bin/env bash
# The lifecycle machine: new seeds for five minutes, or as the environment says: SEED, SEEDS, DEEDS, SECONDS, SHRINK, GAME (Runs, Knowledge,
# Door), ONLY (deeds of one seed), IGNORE (rules), PGURL (a PostgreSQL server instead of files in memory; `cluster` makes one for the time being).
# A failure tells its seed, the few deeds that break a rule, and the command that plays them again.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo="${CARGO:-cargo}"
features=(${STUDIO_FEATURES:+--features "$STUDIO_FEATURES"})
# The shell counts this variable itself; what it was given is kept.
[ "$SECONDS" -gt 2 ] || SECONDS=300
export SECONDS
play=("$cargo" test --quiet "${features[@]}" --test lifecycle -- --ignored --nocapture new_seeds_break_no_rule)
case "${PGURL:-}" in
"") exec "${play[@]}" ;;
cluster)
    unset PGURL
    exec scripts/test-postgres.sh --run "${play[@]}"
    ;;
*) STUDIO_TEST_DATABASE_URL="$PGURL" exec "${play[@]}" ;;
esac
