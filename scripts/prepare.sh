#!/usr/bin/env bash
# Installs what the machine lacks to build (`build`), to make packages (`packages`), to test (`test`), to test against programs of others (`peers`), to test the pages (`ui`),
# to check exported classes (`codegen`), or to lint the workflows (`workflows`):
# Debian packages; the Rust toolchain must be there.
set -euo pipefail
command -v cargo >/dev/null || { echo "Rust is missing: install it with rustup (https://rustup.rs)" >&2; exit 1; }

missing=()
need() { # what to look for, package
    command -v "$1" >/dev/null 2>&1 || [ -e "$1" ] || missing+=("$2")
}
need gcc gcc
need /usr/include/stdlib.h libc6-dev
if [ "${1:-build}" = test ] || [ "${1:-build}" = peers ]; then
    need g++ g++
    need curl curl
    need /bin/kill procps
    need valgrind valgrind
    need pkg-config pkg-config
    need /usr/include/microhttpd.h libmicrohttpd-dev
    python3 -c 'import venv, ensurepip' >/dev/null 2>&1 || missing+=(python3 python3-venv)
fi
[ "${1:-build}" != peers ] || need npm npm
if [ "${1:-build}" = codegen ]; then
    need php php-cli
    need ruby ruby
    need npm npm
    need java default-jre-headless
    need mvn maven
fi
if [ "${1:-build}" = packages ]; then
    need strip binutils
    need npm npm
    need gem ruby
    need mcs mono-mcs
    need mvn maven
    need javac openjdk-17-jdk-headless
    need python3 python3
    python3 -c 'import venv, ensurepip' >/dev/null 2>&1 || missing+=(python3-venv)
fi
if [ "${1:-build}" = workflows ]; then
    need shellcheck shellcheck
    need go golang-go
    python3 -c 'import venv, ensurepip' >/dev/null 2>&1 || missing+=(python3-venv)
fi
if [ "${1:-build}" = ui ]; then
    # Some distributions have no package of the shell alone.
    [ -e /usr/bin/chromium-headless-shell ] || [ -e /usr/bin/chromium ] || "$(dirname "$0")/debian.sh" chromium-headless-shell || missing+=(chromium)
    need nginx nginx-light
    need curl curl
    command -v node >/dev/null 2>&1 || missing+=(nodejs npm)
fi
# Debian's Node.js is older than the pages' tools and a mock of model providers ask for; the registry of its packages has a newer one.
newer_node() {
    [ "$1" = peers ] || [ "$1" = ui ] || [ "$1" = packages ] || return 0
    node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' && return 0
    npm install --silent --no-fund --no-audit --prefix "${CARGO_TARGET_DIR:-target}/node" node@22
}
[ ${#missing[@]} -eq 0 ] && { newer_node "${1:-build}"; exit 0; }
"$(dirname "$0")/debian.sh" "${missing[@]}"
newer_node "${1:-build}"
