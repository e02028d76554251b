#!/usr/bin/env bash
# Tests the C# side under Mono: the core, its conformance host, the packages. The .NET 8 and ASP.NET Core sources need an SDK and are only compiled where there is one.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-target}
library=${WFSTUDIO_LIBRARY:-$target/debug/libwfstudio.so}
[ -f "$library" ] || { scripts/prepare.sh test; scripts/test-library.sh; }
WFSTUDIO_LIBRARY=$(cd "$(dirname "$library")" && pwd)/$(basename "$library")
export WFSTUDIO_LIBRARY
command -v mcs >/dev/null && command -v mono >/dev/null || scripts/debian.sh mono-mcs mono-runtime
say() { printf '== %s\n' "$*"; }

mkdir -p "$target/csharp-tests"
work=$(mktemp -d "$(cd "$target/csharp-tests" && pwd)/XXXXXX")
trap 'rm -rf "$work"' EXIT
compile=(mcs -langversion:7.2 -warnaserror)
cd bindings/csharp
say "Mono $(mono --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p'): the core"
"${compile[@]}" -out:"$work/tests.exe" WfStudio/*.cs tests/*.cs
TMPDIR=$work timeout 120 mono --debug "$work/tests.exe"

say "the packages, unpacked into an empty folder"
"$root/scripts/package.sh" csharp "$work/packages" >/dev/null
mkdir -p "$work/empty"
for package in "$work"/packages/*.nupkg; do python3 -m zipfile -e "$package" "$work/empty"; done
cp "$work"/empty/lib/net472/WfStudio.dll "$work/empty/"
"$root/bindings/hello" csharp >"$work/empty/hello.cs"
"${compile[@]}" -r:"$work/empty/WfStudio.dll" -out:"$work/empty/hello.exe" "$work/empty/hello.cs"
cp "$root/scripts/package/draft.json" "$work/empty/"
(cd "$work/empty" && env -u WFSTUDIO_LIBRARY STUDIO_ENV=local timeout 60 mono hello.exe) >"$work/said" || { cat "$work/said" >&2; exit 1; }
grep -q trace_completed "$work/said" || { cat "$work/said" >&2; exit 1; }

if [ -x "$root/bindings/conformance/run" ] && [ -z "${WFSTUDIO_NO_CONFORMANCE:-}" ]; then
    say "conformance"
    "${compile[@]}" -target:library -out:"$work/WfStudio.dll" WfStudio/*.cs
    "${compile[@]}" -r:"$work/WfStudio.dll" -out:"$work/host.exe" host.cs
    "$root/bindings/conformance/run" --lang csharp --command "mono $work/host.exe"
fi
if command -v dotnet >/dev/null; then
    say ".NET"
    dotnet build --nologo -v quiet WfStudio.AspNetCore/WfStudio.AspNetCore.csproj
else
    echo "skipped: .NET 8 and ASP.NET Core, there is no dotnet"
fi
say "the C# side is as promised"
