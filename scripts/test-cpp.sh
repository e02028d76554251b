#!/usr/bin/env bash
# Tests the C++ headers: installed below a prefix, compiled by g++ and clang++ without a warning, with pkg-config and CMake; the conformance host.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-target}
library=${WFSTUDIO_LIBRARY:-$target/debug/libwfstudio.so}
scripts/prepare.sh test
[ -f "$library" ] || scripts/test-library.sh
command -v g++ >/dev/null && [ -f /usr/include/microhttpd.h ] || scripts/debian.sh g++ libmicrohttpd-dev
say() { printf '== %s\n' "$*"; }

mkdir -p "$target/cpp-tests"
work=$(mktemp -d "$(cd "$target/cpp-tests" && pwd)/XXXXXX")
trap 'rm -rf "$work"' EXIT
scripts/place.sh "$library" "$work/prefix" "$work/prefix"
export PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig LD_LIBRARY_PATH=$work/prefix/lib
read -ra link <<<"$(pkg-config --cflags --libs wfstudio) -pthread"
flags=(-Wall -Wextra -Werror -O1 -g)
cd "$work"
compilers=(g++)
command -v clang++ >/dev/null && compilers+=(clang++)
for compiler in "${compilers[@]}"; do
    say "$compiler"
    rm -f ./*.sqlite*
    for name in engine mhd; do
        "$compiler" -std=c++17 -pedantic "${flags[@]}" "$root/bindings/cpp/tests/$name.cpp" -o "$name" "${link[@]}" -lmicrohttpd
        timeout 120 "./$name"
    done
done
say "the hello host of the README, by CMake and by pkg-config"
mkdir hello
"$root/bindings/hello" cpp >hello/main.cpp
hello_flags=(-std=c++20 -Wall -Wextra -Werror -Wno-missing-field-initializers)
g++ "${hello_flags[@]}" hello/main.cpp -o hello/host "${link[@]}" -lmicrohttpd
if command -v cmake >/dev/null; then
    printf 'cmake_minimum_required(VERSION 3.13)\nproject(hello CXX)\nset(CMAKE_CXX_STANDARD 20)\nfind_package(wfstudio %s REQUIRED)\nadd_executable(host main.cpp)\ntarget_link_libraries(host PRIVATE wfstudio::wfstudio microhttpd)\n' "$("$root/scripts/version.py")" >hello/CMakeLists.txt
    cmake -S hello -B hello/build -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
    cmake --build hello/build >/dev/null
fi
cd hello
g++ "${hello_flags[@]}" "$root/bindings/cpp/tests/seed.cpp" -o seed "${link[@]}"
STUDIO_ENV=local ./seed
for host in ./host $([ -x build/host ] && echo build/host); do
    port=$("$root/scripts/free-port.py")
    out=$(echo | STUDIO_ENV=local timeout 60 "$host" "$port") || { echo "$out" >&2; exit 1; }
    grep -q trace_completed <<<"$out" && grep -qx 200 <<<"$out" || { echo "the hello host said: $out" >&2; exit 1; }
done

cd "$work"
if [ -x "$root/bindings/conformance/run" ] && [ -z "${WFSTUDIO_NO_CONFORMANCE:-}" ]; then
    say "conformance"
    g++ -std=c++17 "${flags[@]}" "$root/bindings/cpp/host.cpp" -o host-cpp "${link[@]}" -lmicrohttpd
    "$root/bindings/conformance/run" --lang cpp --command "$work/host-cpp"
fi
say "the C++ headers are as promised"
