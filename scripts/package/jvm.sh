#!/usr/bin/env bash
# Builds the jars as a Maven repository has them: core, servlet, Spring Boot, Kotlin, and the one with the library: jvm.sh <library> <version> <folder>.
set -euo pipefail
cd "$(dirname "$0")/../.."
library_given=$1 version=$2 folder=$3
# shellcheck disable=SC2034 # read by jvm.sh
root=$PWD
. scripts/jvm.sh
mkdir -p "$folder" "$build/natives/linux-x86_64/wfstudio/native/linux-x86_64-gnu"
folder=$(cd "$folder" && pwd)
grep -q "<version>$version</version>" bindings/jvm/pom.xml || { echo "bindings/jvm/pom.xml is not $version" >&2; exit 1; }
install -m 755 "$library_given" "$build/natives/linux-x86_64/wfstudio/native/linux-x86_64-gnu/libwfstudio.so"
maven -DskipTests package
for module in core native servlet spring-boot-starter kotlin; do
    folder_of=bindings/jvm/$module
    [ "$module" != kotlin ] || folder_of=bindings/kotlin
    place=$folder/io/wfstudio/wfstudio-$module/$version
    mkdir -p "$place"
    cp "$folder_of/pom.xml" "$place/wfstudio-$module-$version.pom"
    for jar in "$build/wfstudio-$module/wfstudio-$module-$version"*.jar; do
        case $jar in *-tests.jar) ;; *) cp "$jar" "$place/" ;; esac
    done
done
mkdir -p "$folder/io/wfstudio/wfstudio-jvm/$version"
cp bindings/jvm/pom.xml "$folder/io/wfstudio/wfstudio-jvm/$version/wfstudio-jvm-$version.pom"
# Maven warns of each file of a repository that has no checksum.
find "$folder" -type f ! -name '*.sha1' -print0 | while IFS= read -r -d '' file; do
    sha1sum <"$file" | cut -d ' ' -f 1 >"$file.sha1"
done
rm -rf "$build/natives"
