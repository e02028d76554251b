# Owns what the scripts of the JVM share: tools, JDKs, folders. Sourced with $root set.
target=${CARGO_TARGET_DIR:-$root/target}
[ "${target#/}" != "$target" ] || target=$root/$target
build=$target/jvm
# shellcheck disable=SC2034 # read by those who source this
package_version=$("$root/scripts/version.py")
library=$(realpath -m "${WFSTUDIO_LIBRARY:-$target/debug/libwfstudio.so}")

command -v mvn >/dev/null && command -v javac >/dev/null || "$root/scripts/debian.sh" maven openjdk-17-jdk-headless
feature() { "$1/bin/java" -XshowSettings:properties -version 2>&1 | sed -n 's/.*java.specification.version = //p'; }
# The oldest JDK that is supported, and the newest: with one of 22 or later the jar has the foreign function interface as well.
jdk17=${JAVA17_HOME:-/usr/lib/jvm/java-17-openjdk-$(dpkg --print-architecture 2>/dev/null || echo amd64)}
newest=${JAVA_NEWEST_HOME:-}
if [ -z "$newest" ]; then
    newest=$jdk17
    for jdk in /usr/lib/jvm/*; do
        [ -x "$jdk/bin/javac" ] && [ ! -L "$jdk" ] && [ "$(feature "$jdk")" -gt "$(feature "$newest")" ] && newest=$jdk
    done
fi
# A build of one's own, quiet but for what is wrong; --quiet leaves Maven's own warnings.
maven() { (mkdir -p "$build/hello"; "$root/bindings/hello" kotlin >"$build/hello/Hello.kt"; cd "$root/bindings/jvm" && JAVA_HOME=$newest mvn -q -B -Dstyle.color=never -Dwfstudio.build="$build" "$@" 2>&1 | { grep -vE '^WARNING: (A terminally|sun\.misc|Please|A restricted|java\.lang|Use --enable|Restricted)' || true; }; exit "${PIPESTATUS[0]}"); }
