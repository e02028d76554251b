#!/usr/bin/env bash
# Installs Debian packages, unless all of them are there: `scripts/debian.sh PACKAGE…`. Suites that run beside each other wait for each other here.
set -euo pipefail
! dpkg -s "$@" >/dev/null 2>&1 || exit 0
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
exec 9>"${TMPDIR:-/tmp}/studio-debian.lock"
flock 9
"${as_root[@]}" apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600 update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends "$@" >/dev/null
