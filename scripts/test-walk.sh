#!/usr/bin/env bash
# Walks by chance through two tabs of the pages in a real browser; prints the seed of what it finds. SEED repeats one walk; STEPS or SECONDS
# (180) say how long; pictures and the fewest steps that show it come with a finding.
set -euo pipefail
# The shell counts in this variable.
long=$(printenv SECONDS || true)
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
scripts/prepare.sh ui
PATH=$(cd "$target" && pwd)/node/node_modules/.bin:$PATH
"${CARGO:-cargo}" build --quiet --example axum --features "${STUDIO_FEATURES:-header,bindgen}"
[ -d ui/node_modules ] || npm ci --prefix ui --silent --no-fund --no-audit
mkdir -p "$target/ui-tests/pictures"
export SHOTS=${SHOTS:-$(cd "$target/ui-tests/pictures" && pwd)}
PROGRAM=$(cd "$target" && pwd)/debug/examples/axum
export PROGRAM
exec env ${long:+SECONDS="$long"} node ui/tests/walk/run.mjs
