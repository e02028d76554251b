#!/usr/bin/env bash
# Holds the suites beside the scenario (bindings/conformance/README.md: silence, load, its end, closing under way, forks, cost) against the host of every language, a line for each test.
# `scripts/test-suites.sh [languages]`; SUITES names others than all. The library is WFSTUDIO_LIBRARY, else the debug build. Minutes: CI runs the scenario alone.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=(rust cpp go python ruby php node csharp jvm)
read -ra suites <<<"${SUITES:-silent load exits race forks cost}"
if [ -z "${WFSTUDIO_LIBRARY:-}" ]; then
    scripts/prepare.sh test
    scripts/test-library.sh
    WFSTUDIO_LIBRARY=$target/debug/libwfstudio.so
fi
WFSTUDIO_LIBRARY=$(realpath "$WFSTUDIO_LIBRARY")
export WFSTUDIO_LIBRARY
[ -d "$target/node/node_modules/.bin" ] && PATH=$(cd "$target" && pwd)/node/node_modules/.bin:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Builds the host of a language; `command` is how it is started, where bindings/conformance/run does not know it.
built() {
    command=
    case $1 in
        rust) command=$target/debug/examples/conformance ;;
        cpp)
            scripts/place.sh "$WFSTUDIO_LIBRARY" "$work/prefix" "$work/prefix"
            local flags
            read -ra flags <<<"$(PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig pkg-config --cflags --libs wfstudio) -pthread -lmicrohttpd"
            g++ -std=c++17 -O1 bindings/cpp/host.cpp -o "$work/host-cpp" "${flags[@]}"
            command="env LD_LIBRARY_PATH=$work/prefix/lib $work/host-cpp"
            ;;
        go)
            (cd bindings/go && CGO_ENABLED=0 go build -o "$work/host-go" ./host)
            command=$work/host-go
            ;;
        python)
            venv=$(scripts/test-python.sh venv)
            export PYTHONPATH=$root/bindings/python PYTHONDONTWRITEBYTECODE=1
            command="$venv/bin/python $root/bindings/python/host.py"
            ;;
        php) scripts/test-php.sh packages ;;
        node) scripts/test-node.sh build ;;
        csharp)
            mcs -langversion:7.2 -target:library -out:"$work/WfStudio.dll" bindings/csharp/WfStudio/*.cs
            mcs -langversion:7.2 -r:"$work/WfStudio.dll" -out:"$work/host.exe" bindings/csharp/host.cs
            command="mono $work/host.exe"
            ;;
        jvm)
            . scripts/jvm.sh
            maven -Ptests -pl '!native' package
            ;;
    esac
}

# For `load`: in a small heap, what is left is what is leaked. Other suites measure a host as it is used.
small=(env "NODE_OPTIONS=--max-old-space-size=24 --max-semi-space-size=1" MONO_GC_PARAMS=nursery-size=1m)

failed=()
for language in "${languages[@]}"; do
    built "$language"
    for suite in "${suites[@]}"; do
        began=$SECONDS
        log=$work/$language-$suite.log
        heap=()
        [ "$suite" != load ] || heap=("${small[@]}")
        "${heap[@]}" python3 bindings/conformance/run --lang "$language" ${command:+--command "$command"} --suite "$suite" >"$log" 2>&1 || failed+=("$language $suite")
        sed -n "s/^\(ok\|not ok\) [0-9]* - /$language: \1: /p; /^# [0-9]* passed/d; s/^# /    /p" "$log"
        echo "$language: $suite, $((SECONDS - began)) s"
    done
done
if [[ " ${languages[*]} " == *" ruby "* ]] && [[ " ${suites[*]} " == *" forks "* ]]; then
    SERVER=unicorn bindings/conformance/run --lang ruby --suite forks || failed+=("ruby forks, Unicorn")
fi
[ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}"; exit 1; }
