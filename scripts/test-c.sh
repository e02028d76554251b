#!/usr/bin/env bash
# Tests the C functions with C programs: the header, the exported names, streams and callbacks, misuse, forks; then once more under
# valgrind. With STUDIO_SANITIZE=1 library and programs are built with the address sanitizer instead (needs a nightly toolchain).
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-target}
work=$target/c-tests
mkdir -p "$work"
work=$(cd "$work" && pwd)

scripts/prepare.sh test
if [ "${STUDIO_SANITIZE:-}" ] && ! ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.asan* >/dev/null 2>&1; then
    scripts/debian.sh clang libclang-rt-14-dev
fi

say() { printf '== %s\n' "$*"; }
flags=(-Wall -Wextra -Werror -pedantic -g -Iinclude -Itests/c)
cc=(gcc -std=gnu11 -O1)

if [ "${STUDIO_SANITIZE:-}" ]; then
    say "library with the address sanitizer"
    triple=$(rustc -vV | sed -n 's/host: //p')
    RUSTFLAGS=-Zsanitizer=address cargo +nightly build --quiet --lib --target "$triple"
    cp "$target/$triple/debug/libwfstudio.so" "$work/libwfstudio.so.1"
    cc=(clang -std=gnu11 -O1 -fsanitize=address)
    # Library and program both register the globals of SQLite.
    export ASAN_OPTIONS=detect_odr_violation=0
else
    scripts/test-library.sh
    cp "$target/debug/libwfstudio.so" "$work/libwfstudio.so.1"
fi
ln -sf libwfstudio.so.1 "$work/libwfstudio.so"
export LD_LIBRARY_PATH=$work
link=(-L"$work" -lwfstudio -lpthread)

say "header: C99, C11, C++"
gcc -std=c99 "${flags[@]}" -fsyntax-only tests/c/header.c
gcc -std=c11 "${flags[@]}" -fsyntax-only tests/c/header.c
g++ -std=c++11 "${flags[@]}" -x c++ -fsyntax-only tests/c/header.c
for name in header misuse fork doors loop; do "${cc[@]}" "${flags[@]}" "tests/c/$name.c" -o "$work/$name" "${link[@]}"; done
"${cc[@]}" "${flags[@]}" examples/c/session.c -o "$work/session" "${link[@]}"
"${cc[@]}" "${flags[@]}" examples/c/host.c -o "$work/host" "${link[@]}" -lmicrohttpd

say "exported names: the header's, and uniffi's"
declared=$(gcc -E -P include/wfstudio.h | grep -oE '\bstudio_[a-z_]+ *\(' | tr -d ' (' | sort -u)
exported=$(nm -D --defined-only "$work/libwfstudio.so.1" | awk '{print $3}' | grep -vE '^(uniffi_|ffi_wfstudio_|UNIFFI_META_)' | sort -u)
[ "${STUDIO_SANITIZE:-}" ] || diff <(echo "$declared") <(echo "$exported")

cd "$work"
rm -f ./*.sqlite*
say "constants, streams, callbacks"
./header
./doors
say "hosts that never wait"
./loop
say "a session through the header"
./session "$root/examples" session.sqlite
say "a host with everything mounted"
bash "$root/tests/c/host.sh" ./host
say "misuse"
./misuse 10000 1000000
# The address sanitizer's own allocator does not survive a fork of a process with threads.
[ "${STUDIO_SANITIZE:-}" ] || { say "forks"; ./fork 200; }
if [ -z "${STUDIO_SANITIZE:-}" ]; then
    say "valgrind"
    check=(valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite)
    rm -f ./*.sqlite*
    "${check[@]}" ./doors
    "${check[@]}" ./loop 300
    "${check[@]}" ./session "$root/examples" session.sqlite
    "${check[@]}" ./misuse 20 3000
fi
if [ -z "${STUDIO_SANITIZE:-}" ]; then
    say "the archive alone"
    env -u LD_LIBRARY_PATH "$root/scripts/test-packages.sh" c
fi
say "the C functions are as promised"
