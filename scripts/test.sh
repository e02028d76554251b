#!/usr/bin/env bash
# Everything that proves the project, from the fastest to the slowest; one set of features, so that the crate is built once.
set -euo pipefail
cd "$(dirname "$0")/.."
export STUDIO_FEATURES=header,bindgen

say() { printf '\n== %s\n' "$*"; }
scripts/prepare.sh test
say "Rust"
cargo test --quiet --features "$STUDIO_FEATURES"
say "the wake-up of streams, in every order of its threads"
scripts/test-wakeup.sh
say "lints"
cargo clippy --quiet --lib --features "$STUDIO_FEATURES" -- -D warnings
say "generated files"
scripts/generate.sh --check
bindings/matrix
bindings/hello --check
say "the scenario of the host languages, in Rust"
bindings/conformance/run --lang rust
scripts/test-packages.sh rust
# Both wait more than they compute, so they run beside each other; what C says comes when it ends.
c=$(mktemp)
trap 'rm -f "$c"' EXIT
scripts/test-c.sh >"$c" 2>&1 &
row=$! passed=yes
say "Python"
scripts/test-python.sh || passed=
wait "$row" || passed=
say "C"
cat "$c"
[ "$passed" ] || { say "failed: see above"; exit 1; }
say "all is well"
