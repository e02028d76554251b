#!/usr/bin/env bash
# Builds the gem that has the library inside, and the plain one: ruby.sh <library> <version> <folder>.
set -euo pipefail
cd "$(dirname "$0")/../.."
library=$1 version=$2 folder=$3
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r bindings/ruby/lib bindings/ruby/README.md bindings/ruby/wfstudio.gemspec LICENSE "$work/"
cd "$work"
# What the loader calls this platform; the C library is part of it.
platform=$(uname -m)-linux-gnu
gem build --silent wfstudio.gemspec --output "$folder/wfstudio-$version.gem"
install -D -m 755 "$library" "lib/wfstudio/native/$platform/libwfstudio.so"
WFSTUDIO_PLATFORM=$platform gem build --silent wfstudio.gemspec --output "$folder/wfstudio-$version-$platform.gem"
for made in "$folder"/wfstudio-"$version"*.gem; do
    gem specification "$made" version | grep -q " $version\$" || { echo "$made is not $version: bindings/ruby/lib/wfstudio/version.rb" >&2; exit 1; }
done
