#!/usr/bin/env bash
# Starts the conformance host in Kotlin. Packages and host must have been built: scripts/test-jvm.sh does.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/jvm.sh"
folder=$build/wfstudio-kotlin
jdk=${HOST_JDK:-$newest} flags=()
[ "$(feature "$jdk")" -lt 22 ] || flags=(--enable-native-access=ALL-UNNAMED)
export WFSTUDIO_LIBRARY=$library
exec "$jdk/bin/java" "${flags[@]}" -XX:+UseSerialGC -Xms128m -Xmx128m -XX:+AlwaysPreTouch -XX:-UseDynamicNumberOfCompilerThreads \
    -cp "$folder/test-classes:$folder/wfstudio-kotlin-0.1.0.jar:$(cat "$folder/classpath")" HostKt
