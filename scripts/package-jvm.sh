#!/usr/bin/env bash
# Builds the jars of Java and Kotlin into a local Maven repository, and runs the hello hosts of their READMEs from an empty folder with only these.
# The library comes from WFSTUDIO_LIBRARY or the target folder; the repository is $TARGET/jvm/repository.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
. scripts/jvm.sh
[ -e "$library" ] || { echo "there is no library at $library: build it, or set WFSTUDIO_LIBRARY" >&2; exit 1; }
repository=$build/repository
platform=linux-$(uname -m)
natives=$build/natives/$platform/wfstudio/native/$platform-gnu
rm -rf "$repository" "$build/natives" "$build/empty"
mkdir -p "$natives" "$repository" "$build/empty"
# Symbols stay out of the jar.
strip --strip-unneeded -o "$natives/libwfstudio.so" "$library"
maven -Dwfstudio.platform="$platform" -Dmaven.test.skip=true -DaltDeploymentRepository="local::file://$repository" deploy
rm -rf "$build/natives"

# What a README shows is what runs: its one block of the language.
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$2" | sed '1d;$d'; }
cd "$build/empty"
block java "$root/bindings/jvm/README.md" >Hello.java
block xml "$root/bindings/jvm/README.md" >dependencies.xml
cat >pom.xml <<XML
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>
<repositories><repository><id>local</id><url>file://$repository</url></repository></repositories>
<dependencies>$(cat dependencies.xml)</dependencies></project>
XML
# A Maven repository of one's own for our jars, so that none of an earlier build is taken.
rm -rf "${MAVEN_REPOSITORY:-$HOME/.m2/repository}/io/wfstudio"
JAVA_HOME=$newest mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.9.0:copy-dependencies -DoutputDirectory=lib >/dev/null
ls lib
hello() { # JDK
    local flags=()
    [ "$(feature "$1")" -lt 22 ] || flags=(--enable-native-access=ALL-UNNAMED)
    rm -rf classes; "$jdk17/bin/javac" -cp 'lib/*' -d classes Hello.java
    env -u WFSTUDIO_LIBRARY XDG_CACHE_HOME="$build/empty/cache" STUDIO_ENV=local PORT="$port" timeout 60 "$1/bin/java" "${flags[@]}" -cp 'classes:lib/*' Hello >log 2>&1 &
    local pid=$! status=0
    for _ in $(seq 200); do curl -sf "http://127.0.0.1:$port/studio/api/workflows" >answer 2>/dev/null && break; sleep 0.1; done
    grep -q '"data"' answer || { cat log; kill "$pid"; return 1; }
    kill "$pid"; wait "$pid" || status=$?
    [ "$status" = 143 ] || { cat log; echo "it ended with $status"; return 1; }
    echo "hello host, JDK $(feature "$1"): ok"
}
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
hello "$jdk17"
rm -f answer
[ "$newest" = "$jdk17" ] || hello "$newest"
[ "$(stat -c %a cache/wfstudio)" = 700 ]
echo "packages of the JVM: $(du -ch lib/wfstudio-*.jar | tail -n 1 | cut -f 1) in $repository"
