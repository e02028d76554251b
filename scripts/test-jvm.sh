#!/usr/bin/env bash
# Tests the Java and Kotlin packages: on the oldest JDK by JNA, on the newest one by the foreign function interface; mounts in real servers.
# The library comes from WFSTUDIO_LIBRARY or the target folder. Arguments go to the test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
. scripts/jvm.sh
[ -e "$library" ] || { echo "there is no library at $library: build it, or set WFSTUDIO_LIBRARY" >&2; exit 1; }

console=1.14.4
runner=${MAVEN_REPOSITORY:-$HOME/.m2/repository}/org/junit/platform/junit-platform-console-standalone/$console/junit-platform-console-standalone-$console.jar
[ -e "$runner" ] || maven org.apache.maven.plugins:maven-dependency-plugin:3.9.0:get -Dartifact=org.junit.platform:junit-platform-console-standalone:$console
[ ! -e bindings/abi.json ] || python3 bindings/generate/jvm.py --check
mkdir -p "$build"
maven -Ptests -pl '!native' package
# The starter is compiled with Spring Boot 3; its tests also run with Spring Boot 4, whose libraries this finds.
maven -Ptests -pl core,servlet,spring-boot-starter -Dspring-boot.version=4.0.0 -Dwfstudio.build="$build/boot4" package

passed=0 failed=0
run() { # name, JDK, module, arguments
    local name=$1 jdk=$2 module=$3; shift 3
    local folder=$build/wfstudio-$module
    local classes=$folder/wfstudio-$module-$package_version.jar:$folder/test-classes:$(cat "${CLASSPATH_OF:-$folder}/classpath") flags=()
    [ "$(feature "$jdk")" -lt 22 ] || flags=(--enable-native-access=ALL-UNNAMED)
    local log=$build/$name.log status=0
    WFSTUDIO_LIBRARY=$library timeout 300 "$jdk/bin/java" "${flags[@]}" -Xmx600m -Dwfstudio.examples="$root/examples" -Dwfstudio.classpath="$classes" \
        -jar "$runner" execute -cp "$classes" --scan-classpath "$folder/test-classes" --details=tree --disable-banner --disable-ansi-colors "$@" >"$log" 2>&1 || status=$?
    local good bad
    good=$(sed -n 's/^\[ *\([0-9]*\) tests successful.*/\1/p' "$log"); bad=$(sed -n 's/^\[ *\([0-9]*\) tests failed.*/\1/p' "$log")
    passed=$((passed + ${good:-0})); failed=$((failed + ${bad:-1}))
    if [ "$status" != 0 ] || [ "${good:-0}" = 0 ]; then cat "$log"; fi
    echo "$name, JDK $(feature "$jdk"): ${good:-0} passed, ${bad:-1} failed"
}
run core-jna "$jdk17" core "$@"
[ "$newest" = "$jdk17" ] || run core-ffm "$newest" core "$@"
run servlet "$jdk17" servlet "$@"
run spring "$jdk17" spring-boot-starter "$@"
CLASSPATH_OF=$build/boot4/wfstudio-spring-boot-starter run spring-4 "$jdk17" spring-boot-starter "$@"
run kotlin "$newest" kotlin "$@"
"$newest/bin/java" $([ "$(feature "$newest")" -lt 22 ] || echo --enable-native-access=ALL-UNNAMED) -Xmx128m -Duniffi.component.wfstudio.libraryOverride="$library" \
    -cp "$build/wfstudio-kotlin/test-classes:$(cat "$build/wfstudio-kotlin/classpath")" SmokeKt || failed=$((failed + 1))
for framework in jdk spring; do
    log=$build/conformance-$framework.log
    if FRAMEWORK=$framework bindings/conformance/run --lang jvm --framework "$framework" >"$log" 2>&1; then
        echo "conformance, $framework: $(tail -n 1 "$log")"
    else
        failed=$((failed + 1))
        cat "$log"
    fi
done
scripts/test-packages.sh jvm
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
