#!/usr/bin/env bash
# Builds the Composer package with the library of this platform, installs it from an `artifact` repository into an empty folder and runs the README's first
# application from there.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
library=$(realpath "${WFSTUDIO_LIBRARY:-$target/debug/libwfstudio.so}")
unset WFSTUDIO_LIBRARY
export COMPOSER_ALLOW_SUPERUSER=1 COMPOSER_DISABLE_NETWORK=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
platform=$(php -r 'require "bindings/php/tests/autoload.php"; echo Studio\Loader::target();')
cp -r bindings/php "$work/package"
cd "$work/package"
rm -rf tests conformance host.php
mkdir -p native
strip --strip-unneeded -o "$work/libwfstudio.so" "$library"
(cd "$work" && sha256sum libwfstudio.so | sed "s|libwfstudio.so|$platform/libwfstudio.so|") >native/SHA256SUMS
sed -i "s|\"name\": \"wfstudio/wfstudio\",|&\n    \"version\": \"$version\",|" composer.json
composer validate --quiet --no-check-publish
mkdir "$work/artifacts"
php -r '$zip = new PharData($argv[1]); $zip->buildFromDirectory(".");' "$work/artifacts/wfstudio-wfstudio-$version.zip"

mkdir "$work/app" && cd "$work/app"
cat >composer.json <<JSON
{"repositories": [{"type": "artifact", "url": "$work/artifacts"}, {"packagist.org": false}], "require": {"wfstudio/wfstudio": "$version"}}
JSON
composer install --quiet --no-interaction --no-scripts
php -r 'require "vendor/autoload.php"; try { Studio\Native::library(); exit(1); } catch (Studio\UnsupportedPlatform) {}' || { echo "a package without a library did not say so" >&2; exit 1; }
echo no >"$work/other.so"
vendor/bin/wfstudio fetch "$work/other.so" 2>/dev/null && { echo "a library with another sum was taken" >&2; exit 1; }
vendor/bin/wfstudio fetch "$work/libwfstudio.so" >/dev/null

sed -n '/^```php$/,/^```$/p' vendor/wfstudio/wfstudio/README.md | sed '1d;/^```$/,$d' >index.php
[ "$(wc -l <index.php)" -le 15 ] || { echo "the first application of the README has more than 15 lines" >&2; exit 1; }
"$root/scripts/hello.sh" php -d ffi.enable=1 -S 127.0.0.1:@PORT@ index.php
vendor/bin/wfstudio php-ini | sed 's/^/# /'
mkdir -p "$target/packages"
cp "$work/artifacts"/*.zip "$target/packages/"
echo "ok wfstudio/wfstudio $version"
