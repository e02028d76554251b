#!/usr/bin/env bash
# Writes link/order.txt: the functions that short runs need, in the order in which the linker puts them. To be made again after the
# compiler or dependencies changed; until then, code is found as before, on more pages. Needs valgrind.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
command -v valgrind >/dev/null || { echo "valgrind is missing" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export BENCH_DIR=$work

program=$("$cargo" rustc --profile bench --bench studio-bench --message-format=json -- -C strip=none |
    sed -n 's/.*"executable":"\([^"]*studio[_-]bench[^"]*\)".*/\1/p' | tail -n 1)
nm "$program" | awk '$2 ~ /[tTwW]/ { print $3 }' > "$work/known"

called() { # arguments of a workload
    valgrind --quiet --tool=callgrind --demangle=no --callgrind-out-file="$work/calls" "$program" "$@" >/dev/null
    grep -oE '\([0-9]+\) [^ ]+' "$work/calls" | cut -d' ' -f2 | sed "s/'[0-9]*$//"
}
{
    called W8
    called W8 --door c
    called W6pause "$work/paused" 3
    called W6resume "$work/paused" 0
    called W3 sqlite-normal 2 2
} | awk 'NR == FNR { known[$1]; next } ($1 in known) && !seen[$1]++' "$work/known" - > "$work/order"
mv "$work/order" link/order.txt
wc -l link/order.txt
