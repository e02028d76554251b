#!/usr/bin/env bash
# Builds the gem of this platform with the library inside, installs it into an empty GEM_HOME and runs the README's first application from there.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
library=$(realpath "${WFSTUDIO_LIBRARY:-$target/debug/libwfstudio.so}")
unset WFSTUDIO_LIBRARY
work=$(mktemp -d)
trap 'rm -rf "$work"; [ -z "${server:-}" ] || kill "$server" 2>/dev/null || true' EXIT

cp -r bindings/ruby "$work/gem"
platform=$(ruby -I bindings/ruby/lib -r wfstudio -e 'print WfStudio::Loader.target')
mkdir -p "$work/gem/lib/wfstudio/native/$platform"
strip --strip-unneeded -o "$work/gem/lib/wfstudio/native/$platform/libwfstudio.so" "$library"
cd "$work/gem"
WFSTUDIO_PLATFORM=$platform gem build --quiet wfstudio.gemspec
built=$(echo "$work"/gem/*.gem)
mkdir -p "$target/packages"
cp "$built" "$target/packages/"

# The gem `ffi` from Debian or a registry; everything else of the system is out of reach.
export GEM_HOME=$work/home
GEM_PATH=$GEM_HOME:$(ruby -e 'print Gem.default_path.join(":")')
export GEM_PATH
gem install --local --quiet --no-document "$built"
cd "$work"
mkdir app && cd app
sed -n '/^```ruby$/,/^```$/p' "$GEM_HOME"/gems/wfstudio-*/README.md | sed '1d;/^```$/,$d' >config.ru
[ "$(wc -l <config.ru)" -le 15 ] || { echo "the first application of the README has more than 15 lines" >&2; exit 1; }
"$root/scripts/hello.sh" puma --quiet --threads 0:8 -b tcp://127.0.0.1:@PORT@ config.ru
echo "ok $(basename "$built"), $(du -h "$built" | cut -f1)"
