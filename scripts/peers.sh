# What the suites against other people's programs share: installing them under the target folder, starting and ending them. To be sourced.
peers="${CARGO_TARGET_DIR:-target}/peers"
mkdir -p "$peers"
peers="$(cd "$peers" && pwd)"
export PATH="$peers/../node/node_modules/.bin:$PATH" # where scripts/prepare.sh puts a newer Node.js
export PIP_DISABLE_PIP_VERSION_CHECK=1

# Every install and every wait has its end, so that nothing hangs. A server of packages that refuses once is asked again.
install() { # command
    local try
    for try in 1 2 3; do
        timeout 600 "$@" && return
        sleep $((5 * try))
    done
    return 1
}
python_peer() { # folder, requirements
    local folder=$1 wanted="${*:2}"
    [ "$(cat "$peers/$folder/wanted" 2>/dev/null)" = "$wanted" ] && return
    rm -rf "${peers:?}/$folder"
    python3 -m venv "$peers/$folder"
    install "$peers/$folder/bin/pip" install --quiet "${@:2}"
    echo "$wanted" >"$peers/$folder/wanted"
}
node_peer() { # folder, packages
    local folder=$1 wanted="${*:2}"
    [ "$(cat "$peers/$folder/wanted" 2>/dev/null)" = "$wanted" ] && return
    rm -rf "${peers:?}/$folder"
    mkdir -p "$peers/$folder"
    install npm install --prefix "$peers/$folder" --silent --no-audit --no-fund "${@:2}"
    echo "$wanted" >"$peers/$folder/wanted"
}

free_port() { scripts/free-port.py; }

started=()
end() {
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
}
trap end EXIT
start() { # name, program with arguments
    local name=$1
    shift
    "$@" >"$peers/$name.log" 2>&1 &
    started+=($!)
    eval "pid_of_$name=$!"
}
wait_for() { # name of a started program, port, seconds, path that is answered once it is ready
    local name=$1 url="http://127.0.0.1:$2$4" pid="pid_of_$1"
    for _ in $(seq $((5 * $3))); do
        curl --silent --fail --output /dev/null --max-time 5 "$url" && return
        kill -0 "${!pid}" 2>/dev/null || break
        sleep 0.2
    done
    echo "$name did not start:" >&2
    tail -n 40 "$peers/$name.log" >&2
    exit 1
}

# The program of one suite of tests.
test_program() { # suite
    "${CARGO:-cargo}" test --quiet ${STUDIO_FEATURES:+--features "$STUDIO_FEATURES"} --test "$1" --no-run --message-format=json |
        python3 -c 'import json, sys
for line in sys.stdin:
    made = json.loads(line)
    if made.get("executable") and made["target"]["name"] == sys.argv[1]:
        print(made["executable"])' "$1"
}
