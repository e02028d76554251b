#!/usr/bin/env bash
# Installs Debian packages, unless all of them are there: `scripts/debian.sh PACKAGE…`. Suites that run beside each other wait for each other here.
set -euo pipefail
# Those that are unpacked and not yet set up are not there.
are_installed() {
    local told
    told=$(dpkg-query -W -f='${db:Status-Abbrev}\n' "$@" 2>/dev/null) && ! grep -qv '^.i ' <<<"$told"
}
! are_installed "$@" || exit 0
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
exec 9>"${TMPDIR:-/tmp}/studio-debian.lock"
flock 9
! are_installed "$@" || exit 0
# Others of this machine may install, too, and a server may fail once. Servers that a package starts must not keep the lock: they do not get it.
options=(-qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
for try in first second third; do
    "${as_root[@]}" apt-get "${options[@]}" update 9>&- &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install -y --no-install-recommends "$@" >/dev/null 9>&- && exit 0
    echo "debian: the $try try to install $* failed" >&2
    sleep 5
done
exit 1
