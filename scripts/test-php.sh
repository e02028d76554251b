#!/usr/bin/env bash
# Tests the PHP binding: loader, requests, engine, processes, frameworks; then the conformance scenario under the built-in server,
# alone, with Symfony, Laravel and Slim, and under php-fpm. `scripts/test-php.sh packages` only installs what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."
library=${WFSTUDIO_LIBRARY:-${CARGO_TARGET_DIR:-$PWD/target}/debug/libwfstudio.so}
export WFSTUDIO_LIBRARY=$(realpath "$library")

needed=(php-cli php-zip php-fpm php-mbstring php-xml php-curl nginx phpunit composer php-slim php-slim-psr7 php-nyholm-psr7 php-symfony-framework-bundle php-symfony-console php-symfony-yaml php-laravel-framework gcc)
scripts/debian.sh "${needed[@]}"
[ "${1:-}" != packages ] || exit 0

phpunit --bootstrap bindings/php/tests/autoload.php --colors=never bindings/php/tests
scripts/test-packages.sh php
[ -x bindings/conformance/run ] || { echo "# bindings/conformance is not here: scenario skipped"; exit 0; }
for framework in "" symfony laravel slim; do
    echo "# scenario, built-in server ${framework:+and $framework}"
    bindings/conformance/run --lang php ${framework:+--framework "$framework"}
done
echo "# scenario, php-fpm behind nginx"
SERVER=fpm bindings/conformance/run --lang php
