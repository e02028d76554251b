#!/usr/bin/env bash
# Holds the shared suite of conversations with model providers that others wrote: llmock (PyPI) and aimock (npm), installed under the target folder.
set -euo pipefail
cd "$(dirname "$0")/.."
peers="${CARGO_TARGET_DIR:-target}/peers"
mkdir -p "$peers"
peers="$(cd "$peers" && pwd)"
export PATH="$peers/../node/node_modules/.bin:$PATH" # where scripts/prepare.sh puts a newer Node.js
llmock_version=0.2.2
aimock_version=1.43.0

if ! "$peers/llmock/bin/python" -c "import importlib.metadata as m; assert m.version('llmock') == '$llmock_version'" 2>/dev/null; then
    python3 -m venv "$peers/llmock"
    "$peers/llmock/bin/pip" install --quiet --disable-pip-version-check "llmock==$llmock_version"
fi
aimock="$peers/aimock/node_modules/@copilotkit/aimock"
if ! grep -qs "\"version\": \"$aimock_version\"" "$aimock/package.json"; then
    mkdir -p "$peers/aimock"
    npm install --prefix "$peers/aimock" --silent --no-audit --no-fund "@copilotkit/aimock@$aimock_version"
fi

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
started=()
end() { for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done; }
trap end EXIT
begin() { # name, port, program with arguments
    local name=$1 port=$2
    shift 2
    "$@" >"$peers/$name.log" 2>&1 &
    started+=($!)
    for _ in $(seq 100); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return
        kill -0 "${started[-1]}" 2>/dev/null || break
        sleep 0.2
    done
    echo "$name did not start:" >&2
    cat "$peers/$name.log" >&2
    exit 1
}

llmock_port=$(free_port)
begin llmock "$llmock_port" "$peers/llmock/bin/llmock" serve --port "$llmock_port"
aimock_port=$(free_port)
begin aimock "$aimock_port" node "$aimock/dist/cli.js" -p "$aimock_port" -f tests/providers/aimock

export STUDIO_LLMOCK_URL="http://127.0.0.1:$llmock_port" STUDIO_AIMOCK_URL="http://127.0.0.1:$aimock_port"
cargo test --quiet ${STUDIO_FEATURES:+--features "$STUDIO_FEATURES"} --test providers -- --include-ignored "$@"
