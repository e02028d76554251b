#!/usr/bin/env bash
# Remakes the files that are made from the code: the C headers, what the bindings list, uniffi's modules, the descriptions of the API and of the C functions. `--check` only says whether they are as made.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
features=${STUDIO_FEATURES:-header,bindgen}

messages=$(cargo build --quiet --lib --examples --bin uniffi-bindgen --features "$features" --message-format=json)
out=$(printf '%s\n' "$messages" | sed -n 's/.*"reason":"build-script-executed","package_id":"[^"]*wfstudio[#@][^"]*".*"out_dir":"\([^"]*\)".*/\1/p' | tail -n 1)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir -p "$made/include"
cp "$out/wfstudio.h" "$out/wfstudio.ffi.h" "$made/include/"
for language in python kotlin ruby swift; do
    "$target/debug/uniffi-bindgen" generate --library "$target/debug/libwfstudio.so" --language "$language" --no-format --out-dir "$made/$language" >/dev/null
done

same=0
keep() { # made kept
    cmp -s "$1" "$2" && return
    if [ "${check:-}" ]; then echo "$2 is not as made: run \`make generate\`" >&2; same=1; else mkdir -p "$(dirname "$2")"; cp "$1" "$2"; fi
}
[ "${1:-}" = "--check" ] && check=1
mkdir -p include bindings/python/wfstudio/uniffi
keep "$made/include/wfstudio.h" include/wfstudio.h
keep "$made/include/wfstudio.ffi.h" include/wfstudio.ffi.h
keep "$made/python/wfstudio.py" bindings/python/wfstudio/uniffi/wfstudio.py
(cd "$made" && find kotlin ruby swift -type f) >"$made/raw"
while read -r file; do keep "$made/$file" "bindings/uniffi/$file"; done <"$made/raw"
# The tests that compare the descriptions of the API and of the functions also write them.
[ "${check:-}" ] || STUDIO_GENERATE=1 cargo test --quiet --features "$features" --test it the_description_of_the >/dev/null
scripts/version.py --check || same=1
bindings/generate/all ${check:+--check} || same=1
exit $same
