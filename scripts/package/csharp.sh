#!/usr/bin/env bash
# Writes the NuGet packages: csharp.sh <library> <version> <folder>. The core is compiled by Mono; where there is `dotnet` it makes those for .NET 8.
set -euo pipefail
cd "$(dirname "$0")/../.."
library=$1 version=$2 folder=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mcs -langversion:7.2 -warnaserror -target:library -out:"$work/WfStudio.dll" bindings/csharp/WfStudio/*.cs
python3 scripts/package/nuget.py "$folder/WfStudio.$version.nupkg" WfStudio "$version" \
    "Workflow Studio inside a .NET application: agents and graph workflows that its people build, test and run." \
    "lib/net472/WfStudio.dll=$work/WfStudio.dll" README.md=bindings/csharp/README.md LICENSE.txt=LICENSE --needs "WfStudio.Native.linux-x64"
python3 scripts/package/nuget.py "$folder/WfStudio.Native.linux-x64.$version.nupkg" WfStudio.Native.linux-x64 "$version" \
    "The library of Workflow Studio for Linux on x86-64 with glibc." "runtimes/linux-x64/native/libwfstudio.so=$library" README.md=bindings/csharp/README.md LICENSE.txt=LICENSE
if command -v dotnet >/dev/null; then
    for project in WfStudio WfStudio.AspNetCore; do dotnet pack --nologo -v quiet -c Release -o "$folder/dotnet" "bindings/csharp/$project/$project.csproj"; done
fi
