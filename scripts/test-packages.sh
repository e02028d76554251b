#!/usr/bin/env bash
# Makes the package of each language named (c, node, ruby, php, python, jvm with Kotlin; all without a name; `rust`: the program alone), installs it alone into an empty folder, and runs the first
# program of its README there (`bindings/hello`; in C examples/c/session.c): pages, a definition, a run told to its end, the end of the process with 0. WFSTUDIO_LIBRARY is the library that goes in.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
WFSTUDIO_LIBRARY=$(realpath "${WFSTUDIO_LIBRARY:-$target/debug/libwfstudio.so}")
export WFSTUDIO_LIBRARY
[ -d "$target/node/node_modules/.bin" ] && PATH=$(cd "$target" && pwd)/node/node_modules/.bin:$PATH
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
languages=("$@")
[ $# -gt 0 ] || languages=(c node ruby php python jvm)
work=$(mktemp -d)
host=
trap 'rm -rf "$work"' EXIT

free_port() { "$root/scripts/free-port.py"; }
ask() { curl -sf --max-time 20 -H 'X-Requested-With: XMLHttpRequest' -H 'Content-Type: application/json' "$@"; }
fail() {
    echo "$1" >&2
    [ ! -e host.log ] || tail -n 40 host.log >&2
    [ -z "$host" ] || kill "$host" 2>/dev/null || true
    exit 1
}

# Starts the command as the host, with its package alone, and asks it for everything.
serve() { # port, command
    local port=$1 url=http://127.0.0.1:$1/studio code=0
    shift
    env -u WFSTUDIO_LIBRARY STUDIO_ENV=local PORT="$port" "$@" >host.log 2>&1 &
    host=$!
    for _ in $(seq 600); do curl -sf -o /dev/null --max-time 20 "$url/workflows" && break; kill -0 "$host" 2>/dev/null || fail "the host ended"; sleep 0.1; done
    ask -o answer "$url/workflows" && grep -q '<div id="studio">' answer || fail "no pages"
    python3 - >definition.json <<'PYTHON'
import json
at = {"position": {"x": 0, "y": 0}}
nodes = [{"id": "a", "type": "start", "data": {}, **at}, {"id": "b", "type": "stop", "data": {"reply": "done"}, **at}]
edges = [{"id": "e", "source": "a", "target": "b", "sourceHandle": "default", "targetHandle": "default"}]
print(json.dumps({"slug": "draft", "name": "Draft", "graph": {"version": 1, "nodes": nodes, "edges": edges}}))
PYTHON
    ask -o /dev/null -d @definition.json "$url/api/workflows" || fail "no definition"
    ask -N -o answer -d '{"message":"hi"}' "$url/workflows/draft/run/stream" && grep -q 'event: trace_completed' answer || fail "no run"
    [ -z "${NATIVE:-}" ] || { ask -o answer "http://127.0.0.1:$port$NATIVE" && grep -q trace_completed answer; } || fail "no run of the program's own"
    kill -TERM "$host"
    wait "$host" || code=$?
    host=
    [ "$code" = 0 ] || [ "$code" = "${ENDS:-0}" ] || fail "the host ended with $code"
}

c() {
    tar -xzf "$made"/wfstudio-"$version"-*.tar.gz --strip-components=1
    local flags
    read -ra flags <<<"$(PKG_CONFIG_PATH=$PWD/lib/pkgconfig pkg-config --define-prefix --cflags --libs wfstudio)"
    cc "$root/examples/c/session.c" -o session "${flags[@]}"
    env -u WFSTUDIO_LIBRARY LD_LIBRARY_PATH="$PWD/lib" ./session "$root/examples" session.sqlite >host.log 2>&1 || fail "the program failed"
    grep -q trace_completed host.log || fail "no run"
}
node() {
    echo '{"private":true,"type":"module"}' >package.json
    npm install --silent --no-fund --no-audit --ignore-scripts "$made"/npm/wfstudio-{lib-linux-x64,host,client}-*.tgz express
    "$root/bindings/hello" node >hello.mjs
    serve "$(free_port)" node hello.mjs
}
ruby() {
    # `ffi` is the system's; the gem itself is the only one here.
    export GEM_HOME=$PWD/gems
    gem install --silent --local --no-document "$made"/ruby/wfstudio-"$version"-*.gem
    "$root/bindings/hello" ruby >config.ru
    local port
    port=$(free_port)
    NATIVE=/events ENDS=143 serve "$port" puma --quiet --bind "tcp://127.0.0.1:$port" config.ru
}
php() {
    cat >composer.json <<JSON
{"repositories": [{"type": "artifact", "url": "$made/php"}, {"packagist.org": false}], "require": {"wfstudio/wfstudio": "$version"}}
JSON
    COMPOSER_HOME=$PWD/home COMPOSER_ALLOW_SUPERUSER=1 composer install --quiet --no-interaction
    command php vendor/bin/wfstudio fetch "$made/php/" >/dev/null
    cp vendor/wfstudio/wfstudio/native/*/libwfstudio.so other.so && echo x >>other.so
    ! command php vendor/bin/wfstudio fetch "$PWD/other.so" 2>/dev/null || fail "another library was taken"
    rm other.so
    "$root/bindings/hello" php >index.php
    local port
    port=$(free_port)
    NATIVE=/ ENDS=143 serve "$port" php -d ffi.enable=1 -S "127.0.0.1:$port" index.php
}
python() {
    python3 -m venv venv
    venv/bin/pip install --quiet --disable-pip-version-check --no-index "$made"/python/wfstudio-*.whl
    venv/bin/python -c 'import wfstudio' || fail "it cannot be imported alone"
    venv/bin/pip install --quiet --disable-pip-version-check fastapi uvicorn
    "$root/bindings/hello" python >shop.py
    local port
    port=$(free_port)
    ENDS=143 serve "$port" venv/bin/uvicorn --log-level warning --port "$port" shop:app
}
jvm() {
    . "$root/scripts/jvm.sh"
    "$root/bindings/hello" jvm >Hello.java
    local jna path
    jna=$(find "${MAVEN_REPOSITORY:-$HOME/.m2/repository}/net/java/dev/jna/jna" -name 'jna-[0-9]*.jar' | sort | tail -n 1)
    path=$(find "$made/jvm" -name '*.jar' | tr '\n' :)$jna
    "$jdk17/bin/javac" -cp "$path" -d . Hello.java
    XDG_CACHE_HOME=$PWD/cache HOME=$PWD ENDS=143 serve "$(free_port)" "$jdk17/bin/java" -Xmx128m -cp ".:$path" Hello
    # That of the Kotlin package was compiled with its tests.
    mkdir kotlin
    cp "$build"/wfstudio-kotlin/test-classes/HelloKt*.class kotlin/
    path=$path:$(find "${MAVEN_REPOSITORY:-$HOME/.m2/repository}/org/jetbrains" -name 'kotlin-stdlib-2*.jar' -o -name 'kotlinx-coroutines-core-jvm-*.jar' | tr '\n' :)
    rm -f studio.sqlite*
    XDG_CACHE_HOME=$PWD/cache HOME=$PWD ENDS=143 serve "$(free_port)" "$jdk17/bin/java" -Xmx128m -cp "kotlin:$path" HelloKt
}
# The crate is compiled in: what Cargo built is run.
rust() { ENDS=143 serve "$(free_port)" "$target/debug/examples/hello"; }

for language in "${languages[@]}"; do
    made=$work/made-$language
    mkdir -p "$work/$language"
    if [ "$language" = rust ]; then
        (cd "$work/rust" && rust)
        echo "rust: runs"
        continue
    fi
    "$root/scripts/package.sh" "$language" "$made" >/dev/null
    (cd "$made" && sha256sum --quiet --check SHA256SUMS)
    (cd "$work/$language" && "$language")
    echo "$language: installed into an empty folder, runs; $(find "$made" -type f ! -name SHA256SUMS -printf '%f %s\n' | sort | awk '{printf "%s%s %.1f MB", (NR > 1 ? ", " : ""), $1, $2 / 1e6}')"
done
