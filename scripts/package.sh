#!/usr/bin/env bash
# Makes what is published of a built library: package.sh all|c|go|csharp|node|ruby|php|python|jvm [folder]. The library is WFSTUDIO_LIBRARY, or the optimised one.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-all}
target=${CARGO_TARGET_DIR:-target}
library=${WFSTUDIO_LIBRARY:-$target/release/libwfstudio.so}
[ -f "$library" ] || { echo "package: there is no $library; build it by \`cargo rustc --release --lib --crate-type cdylib\`" >&2; exit 1; }
folder=${2:-$target/packages}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
platform=$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Symbols are for debuggers; what the loader needs stays.
strip --strip-unneeded -o "$work/libwfstudio.so" "$library"
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1)}

c() {
    local name=wfstudio-$version-$platform
    scripts/place.sh "$work/libwfstudio.so" "$work/$name"
    install -d "$work/$name/share/doc/wfstudio"
    install -m 644 LICENSE bindings/cpp/README.md docs/c.md "$work/$name/share/doc/wfstudio/"
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$work" -cf - "$name" | gzip -n >"$folder/$name.tar.gz"
}
go() { python3 scripts/package/go.py "$work/libwfstudio.so" "$version" "$folder/go"; }
csharp() { scripts/package/csharp.sh "$work/libwfstudio.so" "$version" "$folder"; }
node() { scripts/package/node.sh "$work/libwfstudio.so" "$version" "$folder/npm"; }
ruby() { scripts/package/ruby.sh "$work/libwfstudio.so" "$version" "$folder/ruby"; }
php() { python3 scripts/package/php.py "$work/libwfstudio.so" "$version" "$folder/php"; }
python() { python3 scripts/package/python.py "$work/libwfstudio.so" "$version" "$folder/python"; }
jvm() { scripts/package/jvm.sh "$work/libwfstudio.so" "$version" "$folder/jvm"; }

case $what in
    all) for each in c go csharp node ruby php python jvm; do "$each"; done ;;
    c | go | csharp | node | ruby | php | python | jvm) "$what" ;;
    *) echo "package: all, c, go, csharp, node, ruby, php, python or jvm" >&2; exit 2 ;;
esac
cd "$folder"
find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >"$work/sums"
mv "$work/sums" SHA256SUMS
echo "$folder: $(wc -l <SHA256SUMS) files, sums in SHA256SUMS"
