#!/usr/bin/env bash
# Everything that proves the project, from the fastest to the slowest; one set of features, so that the crate is built once.
set -euo pipefail
cd "$(dirname "$0")/.."
export STUDIO_FEATURES=header,bindgen

say() { printf '\n== %s\n' "$*"; }
# With SECOND_TRY, as in CI, what fails is tried once more by itself: what then passes is named, and does not count as failed.
tried() { "$@" || { [ -n "${SECOND_TRY:-}" ] && say "once more: $*" && "$@"; }; }
rust() {
    local log targets names target again passed=0
    log=$(mktemp)
    cargo test --quiet ${SECOND_TRY:+--no-fail-fast} --features "$STUDIO_FEATURES" 2>&1 | tee "$log" && rm "$log" && return
    mapfile -t targets < <(sed -n 's/^    `\(-.*\)`$/\1/p' "$log")
    mapfile -t names < <(awk '/^failures:$/ {n = 0} /^    [A-Za-z0-9_:]+$/ {found[n++] = $1} /^test result/ {for (i = 0; i < n; i++) print found[i]; n = 0}' "$log" | sort -u)
    rm "$log"
    [ -n "${SECOND_TRY:-}" ] && [ ${#names[@]} -gt 0 ] && [ ${#names[@]} -le 5 ] || return 1
    say "once more: ${names[*]}"
    for target in "${targets[@]}"; do
        # shellcheck disable=SC2086 # `--test it` is two words
        again=$(cargo test --quiet --features "$STUDIO_FEATURES" $target -- --exact --test-threads=1 "${names[@]}" 2>&1) || { echo "$again"; return 1; }
        passed=$((passed + $(grep -o '^test result: ok. [0-9]*' <<<"$again" | awk '{n += $NF} END {print n + 0}')))
    done
    [ "$passed" -ge ${#names[@]} ] && say "failed once, passed by themselves: ${names[*]}"
}
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
rust
wait "$row" || passed=
cat "$out"
[ "$passed" ] || { say "failed: see above"; exit 1; }
say "generated files"
scripts/generate.sh --check
bindings/matrix
bindings/hello --check
say "the scenario of the host languages, in Rust"
tried bindings/conformance/run --lang rust
tried scripts/test-packages.sh rust
# Both wait more than they compute, so they run beside each other; what C says comes when it ends.
tried scripts/test-c.sh >"$out" 2>&1 &
row=$! passed=yes
say "Python"
tried scripts/test-python.sh || passed=
wait "$row" || passed=
say "C"
cat "$out"
[ "$passed" ] || { say "failed: see above"; exit 1; }
say "all is well"
