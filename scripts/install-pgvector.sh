#!/usr/bin/env bash
# Installs pgvector for the newest PostgreSQL of this machine, for tests: the package, or where the distribution has none, its
# source package, built here.
set -euo pipefail
pg="$(ls -d /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | sort -V | tail -n 1)"
version="$(basename "$(dirname "$(dirname "$pg")")")"
extensions=/usr/share/postgresql/$version/extension
# The studio uses 0.7 or later.
is_new() { [ -e "$extensions/vector.control" ] && dpkg --compare-versions "$(sed -n "s/^default_version = '\(.*\)'/\1/p" "$extensions/vector.control")" ge 0.7; }
! is_new || exit 0
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
if apt-cache show "postgresql-$version-pgvector" >/dev/null 2>&1; then
    "$(dirname "$0")/debian.sh" "postgresql-$version-pgvector"
    is_new
    exit
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/source"
# The server that this machine has its packages from.
server="$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -nE '0,/^URIs: |^deb /{s/^URIs: *//p; s/^deb +(\[[^]]*\] +)?([^ ]+) .*/\2/p}' || true)"
printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s trixie main\n' "$server" >"$work/sources.list"
cat >"$work/apt.conf" <<CONF
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$work/lists";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
CONF
cd "$work/source"
# The headers alone: the whole package wants LLVM.
apt-get -o APT::Sandbox::User=root download -qq "postgresql-server-dev-$version"
dpkg-deb -x ./*.deb "$work/dev"
APT_CONFIG="$work/apt.conf" apt-get update -qq
APT_CONFIG="$work/apt.conf" apt-get source -qq --download-only pgvector
tar xf pgvector_*.orig.tar.gz --strip-components=1
release="$(sed -n "s/^default_version = '\(.*\)'/\1/p" vector.control)"
gcc -shared -fPIC -O2 -ftree-vectorize -fno-math-errno -fassociative-math -fno-signed-zeros -fno-trapping-math -D_GNU_SOURCE \
    -I "$work/dev/usr/include/postgresql/$version/server" -I src src/*.c -o vector.so
"${as_root[@]}" install -m 644 vector.so "/usr/lib/postgresql/$version/lib/vector.so"
"${as_root[@]}" install -m 644 sql/vector.sql "$extensions/vector--$release.sql"
# The last one: by it this script knows that all is there.
"${as_root[@]}" install -m 644 vector.control "$extensions/"
