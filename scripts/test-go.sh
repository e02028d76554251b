#!/usr/bin/env bash
# Tests the Go module: without a C compiler; with SLOW=1 with the race detector; as a package in an empty module; its conformance host.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-target}
library=${WFSTUDIO_LIBRARY:-$target/debug/libwfstudio.so}
[ -f "$library" ] || { scripts/prepare.sh test; scripts/test-library.sh; }
WFSTUDIO_LIBRARY=$(cd "$(dirname "$library")" && pwd)/$(basename "$library")
export WFSTUDIO_LIBRARY
command -v go >/dev/null || scripts/debian.sh golang-go
say() { printf '== %s\n' "$*"; }

mkdir -p "$target/go-tests"
work=$(mktemp -d "$(cd "$target/go-tests" && pwd)/XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd bindings/go
say "formatted, vetted"
[ -z "$(gofmt -l .)" ] || { gofmt -l . >&2; exit 1; }
# For other systems the whole standard library has to be compiled first, which takes minutes: CROSS=1.
for system in ${CROSS:+linux/arm64 darwin/arm64 windows/amd64 linux/386}; do
    GOOS=${system%/*} GOARCH=${system#*/} CGO_ENABLED=0 go vet . || { echo "does not compile for $system" >&2; exit 1; }
done
CGO_ENABLED=0 go vet ./...
say "without a C compiler"
CGO_ENABLED=0 go test -count=1 . "$@"
# It compiles the standard library once more, which takes minutes: SLOW=1.
if [ -n "${SLOW:-}" ] && command -v gcc >/dev/null; then
    say "with the race detector"
    CGO_ENABLED=1 go test -count=1 -race -short .
fi

say "as a package, offline, in an empty module"
"$root/scripts/package.sh" go "$work/packages" >/dev/null
mkdir -p "$work/empty" "$work/cache"
cd "$work/empty"
"$root/bindings/hello" go >main.go
mkdir seed
cp "$root/scripts/package/seed.go" seed/main.go
offline=(env -u WFSTUDIO_LIBRARY HOME="$work" XDG_CACHE_HOME="$work/cache" GOFLAGS=-mod=mod GOMODCACHE="$work/modules"
    GOPROXY="file://$work/packages/go,file://$(go env GOMODCACHE)/cache/download" GOSUMDB=off CGO_ENABLED=0)
"${offline[@]}" go mod init hello >/dev/null 2>&1
"${offline[@]}" go get github.com/wfstudio/wfstudio-go@v"$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)" 
"${offline[@]}" go build -o hello .
"${offline[@]}" go run ./seed "$root/scripts/package/draft.json"
port=$("$root/scripts/free-port.py")
"${offline[@]}" PORT="$port" timeout 120 ./hello >hello.log 2>&1 &
hello=$!
out=$(curl -sS --retry 100 --retry-connrefused --retry-delay 1 --retry-max-time 60 "http://127.0.0.1:$port/events" 2>&1) || true
page=$(curl -sf "http://127.0.0.1:$port/studio/workflows") && grep -q '<div id="studio">' <<<"$page" || out="no pages: $out"
kill "$hello"
grep -q '^trace_completed' <<<"$out" || { echo "the hello host said: $out" "$(cat hello.log)" >&2; exit 1; }
[ "$(stat -c %a "$work/cache/wfstudio/"*)" = 700 ]

if [ -x "$root/bindings/conformance/run" ] && [ -z "${WFSTUDIO_NO_CONFORMANCE:-}" ]; then
    say "conformance"
    cd "$root/bindings/go" && CGO_ENABLED=0 go build -o "$work/host" ./host
    "$root/bindings/conformance/run" --lang go --command "$work/host"
fi
say "the Go module is as promised"
