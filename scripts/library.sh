#!/usr/bin/env bash
# Builds the optimised library and prints where it is. With a version of glibc (library.sh 2.17) zig links it, so that it loads where glibc is that old;
# what it asks for is then checked.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
glibc=${1:-}
build=(rustc --release --lib --crate-type cdylib)
if [ -z "$glibc" ]; then
    "${CARGO:-cargo}" "${build[@]}" >&2
    echo "$target/release/libwfstudio.so"
    exit 0
fi

zig=$target/zig
[ -x "$zig/bin/cargo-zigbuild" ] || {
    python3 -m venv "$zig"
    "$zig/bin/pip" install --quiet --disable-pip-version-check ziglang==0.17.1 cargo-zigbuild==0.24.0 >&2
}
triple=$(uname -m)-unknown-linux-gnu
PATH=$zig/bin:$PATH "$zig/bin/cargo-zigbuild" "${build[@]}" --target "$triple.$glibc" >&2
library=$target/$triple/release/libwfstudio.so
newest=$(readelf --version-info --wide "$library" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
[ "$(printf '%s\n' "GLIBC_$glibc" "$newest" | sort -V | tail -n 1)" = "GLIBC_$glibc" ] || { echo "$library asks for $newest" >&2; exit 1; }
[ "$(readelf -d "$library" | grep -c libgcc_s)" = 0 ] || { echo "$library asks for libgcc_s" >&2; exit 1; }
echo "$library"
