#!/usr/bin/env bash
# Everything that proves the project, from the fastest to the slowest; one set of features, so that the crate is built once.
set -euo pipefail
cd "$(dirname "$0")/.."
export STUDIO_FEATURES=header,bindgen

say() { printf '\n== %s\n' "$*"; }
scripts/prepare.sh test
cargo test --quiet --no-run --features "$STUDIO_FEATURES"
# The tests wait about a third of their time: the lints and the model of the wake-up take what is left.
out=$(mktemp)
trap 'rm -f "$out"' EXIT
(
    lints=passed model=passed
    nice -n 19 cargo clippy --quiet --lib --features "$STUDIO_FEATURES" -- -D warnings || lints=FAILED
    nice -n 19 scripts/test-wakeup.sh || model=FAILED
    say "lints: $lints; the wake-up of streams, in every order of its threads: $model"
    [ "$lints$model" = passedpassed ]
) >"$out" 2>&1 &
row=$! passed=yes
say "Rust"
cargo test --quiet --features "$STUDIO_FEATURES"
wait "$row" || passed=
cat "$out"
[ "$passed" ] || { say "failed: see above"; exit 1; }
say "generated files"
scripts/generate.sh --check
bindings/matrix
bindings/hello --check
say "the scenario of the host languages, in Rust"
bindings/conformance/run --lang rust
scripts/test-packages.sh rust
# Both wait more than they compute, so they run beside each other; what C says comes when it ends.
scripts/test-c.sh >"$out" 2>&1 &
row=$! passed=yes
say "Python"
scripts/test-python.sh || passed=
wait "$row" || passed=
say "C"
cat "$out"
[ "$passed" ] || { say "failed: see above"; exit 1; }
say "all is well"
