#!/usr/bin/env bash
# Starts the conformance host; FRAMEWORK is `jdk` or `spring`. scripts/test-jvm.sh builds the packages.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/jvm.sh"
name=Host module=core
[ "${FRAMEWORK:-jdk}" != spring ] || name=SpringHost module=spring-boot-starter
folder=$build/wfstudio-$module classes=$build/host-$module
path=$folder/wfstudio-$module-$package_version.jar:$(cat "$folder/classpath")
sources=("$root/bindings/jvm/Host.java")
[ "$name" = Host ] || sources+=("$root/bindings/jvm/SpringHost.java")
if [ ! -e "$classes/$name.class" ] || [ -n "$(find "${sources[@]}" "$folder"/*.jar -newer "$classes/$name.class")" ]; then
    "$jdk17/bin/javac" -parameters -cp "$path" -d "$classes" "${sources[@]}"
fi
jdk=${HOST_JDK:-$newest} flags=()
[ "$(feature "$jdk")" -lt 22 ] || flags=(--enable-native-access=ALL-UNNAMED)
export WFSTUDIO_LIBRARY=$library
exec "$jdk/bin/java" "${flags[@]}" -XX:+UseSerialGC -Xms128m -Xmx128m -XX:+AlwaysPreTouch -XX:-UseDynamicNumberOfCompilerThreads -cp "$classes:$path" "$name"
