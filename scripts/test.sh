#!/usr/bin/env bash
# Everything that proves the project, from the fastest to the slowest; one set of features, so that the crate is built once.
set -euo pipefail
cd "$(dirname "$0")/.."
export STUDIO_FEATURES=header,bindgen

say() { printf '\n== %s\n' "$*"; }
scripts/prepare.sh test
say "Rust"
cargo test --quiet --features "$STUDIO_FEATURES"
# The model of the wake-up plays on one core, so the lints run beside it.
out=$(mktemp)
trap 'rm -f "$out"' EXIT
scripts/test-wakeup.sh >"$out" 2>&1 &
row=$! passed=yes
say "lints"
cargo clippy --quiet --lib --features "$STUDIO_FEATURES" -- -D warnings || passed=
wait "$row" || passed=
say "the wake-up of streams, in every order of its threads"
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
