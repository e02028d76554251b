#!/usr/bin/env bash
# Runs the programs in fuzz/, one after another: `scripts/fuzz.sh [seconds of each, 300] [their names]`. A nightly compiler is
# taken where there is one; else the usual one is told to take the switches of a nightly. Bounds of memory and time hold with either.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-300}
shift $(($# > 0))
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(answers streams graph condition template form requests arguments mcp script source schema masking documents pdf prices)
work="${CARGO_TARGET_DIR:-target}/fuzz"
mkdir -p "$work"
work="$(cd "$work" && pwd)"
export PATH="$work/tools/bin:$PATH"

# The C code of SQLite is linked twice, which is of no consequence here.
export ASAN_OPTIONS="detect_odr_violation=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
toolchain=+nightly
if ! { rustup toolchain list | grep -q ^nightly || rustup toolchain install nightly --profile minimal; } 2>/dev/null; then
    toolchain="+$(rustup show active-toolchain | cut -d' ' -f1)"
    export RUSTC_BOOTSTRAP=1
    echo "no nightly compiler in reach: $toolchain with RUSTC_BOOTSTRAP=1"
fi
# Without its runtime (a package of some systems leaves it out) what is read of freed memory is not seen; panics, time and memory are.
sanitizer=(--sanitizer address)
find "$(rustc "$toolchain" --print sysroot)" -name 'librustc*rt.asan.a' | grep -q . || sanitizer=(--sanitizer none)
cp Cargo.lock fuzz/Cargo.lock # the versions of the product
command -v cargo-fuzz >/dev/null || cargo "$toolchain" install --quiet --locked --root "$work/tools" cargo-fuzz

for name in "${names[@]}"; do mkdir -p "$work/corpus/$name"; done
python3 fuzz/seeds.py "$work/corpus"

for name in "${names[@]}"; do
    printf '\n== %s\n' "$name"
    # The thread that reads a PDF ends behind its answer: what it still holds is no leak.
    leaks=1
    [ "$name" != pdf ] || leaks=0
    nice cargo "$toolchain" fuzz run "${sanitizer[@]}" --target-dir "$work/target" "$name" "$work/corpus/$name" -- \
        -max_total_time="$seconds" -detect_leaks=$leaks -max_len=8192 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 -verbosity=0
done
