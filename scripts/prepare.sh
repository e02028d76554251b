#!/usr/bin/env bash
# Installs what the machine lacks to build (`build`) or also to test (`test`): Debian packages; the Rust toolchain must be there.
set -euo pipefail
command -v cargo >/dev/null || { echo "Rust is missing: install it with rustup (https://rustup.rs)" >&2; exit 1; }

missing=()
need() { # what to look for, package
    command -v "$1" >/dev/null 2>&1 || [ -e "$1" ] || missing+=("$2")
}
need gcc gcc
need /usr/include/stdlib.h libc6-dev
if [ "${1:-build}" = test ]; then
    need g++ g++
    need curl curl
    need valgrind valgrind
    need npm npm
    need /usr/include/microhttpd.h libmicrohttpd-dev
    python3 -c 'import venv, ensurepip' >/dev/null 2>&1 || missing+=(python3 python3-venv)
fi
[ ${#missing[@]} -eq 0 ] && exit 0
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
