#!/usr/bin/env bash
# Holds the shared suite of conversations with model providers that others wrote, all installed under the target folder:
# llmock (PyPI) and aimock (npm), which play providers; the llama.cpp server (PyPI xllamacpp) with a small model made here; LiteLLM (PyPI) before it.
set -euo pipefail
cd "$(dirname "$0")/.."
peers="${CARGO_TARGET_DIR:-target}/peers"
mkdir -p "$peers"
peers="$(cd "$peers" && pwd)"
export PATH="$peers/../node/node_modules/.bin:$PATH" # where scripts/prepare.sh puts a newer Node.js
aimock_version=1.43.0

python_peer() { # folder, requirements
    local folder=$1 wanted="${*:2}"
    [ "$(cat "$peers/$folder/wanted" 2>/dev/null)" = "$wanted" ] && return
    rm -rf "${peers:?}/$folder"
    python3 -m venv "$peers/$folder"
    "$peers/$folder/bin/pip" install --quiet --disable-pip-version-check "${@:2}"
    echo "$wanted" >"$peers/$folder/wanted"
}
python_peer llmock llmock==0.2.2
python_peer llamacpp xllamacpp==2026.10.11549 gguf==0.19.0 numpy
python_peer litellm 'litellm[proxy]==1.106.2'
aimock="$peers/aimock/node_modules/@copilotkit/aimock"
if ! grep -qs "\"version\": \"$aimock_version\"" "$aimock/package.json"; then
    mkdir -p "$peers/aimock"
    npm install --prefix "$peers/aimock" --silent --no-audit --no-fund "@copilotkit/aimock@$aimock_version"
fi

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
started=()
end() { for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done; }
trap end EXIT
start() { # name, program with arguments
    local name=$1
    shift
    "$@" >"$peers/$name.log" 2>&1 &
    started+=($!)
}
wait_for() { # name, port, seconds; the name's program was started last or before
    local name=$1 port=$2
    for _ in $(seq $((5 * $3))); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return
        sleep 0.2
    done
    echo "$name did not start:" >&2
    tail -n 40 "$peers/$name.log" >&2
    exit 1
}

model="$peers/random.gguf"
make_model=tests/providers/peers/make_model.py
[ "$model" -nt "$make_model" ] || "$peers/llamacpp/bin/python" "$make_model" "$model"
llamacpp_port=$(free_port)
start llamacpp "$peers/llamacpp/bin/python" tests/providers/peers/serve_model.py "$model" "$llamacpp_port"
litellm_port=$(free_port)
cat >"$peers/litellm.yaml" <<END
model_list:
  - model_name: random
    litellm_params: {model: openai/random, api_base: "http://127.0.0.1:$llamacpp_port/v1", api_key: none}
litellm_settings: {telemetry: false, num_retries: 0}
END
export LITELLM_LOCAL_MODEL_COST_MAP=True LITELLM_MASTER_KEY=sk-of-the-providers-suite-0123456789
start litellm "$peers/litellm/bin/litellm" --config "$peers/litellm.yaml" --host 127.0.0.1 --port "$litellm_port"
llmock_port=$(free_port)
start llmock "$peers/llmock/bin/llmock" serve --port "$llmock_port"
aimock_port=$(free_port)
start aimock node "$aimock/dist/cli.js" -p "$aimock_port" -f tests/providers/aimock

# While they start, the tests are built.
binary=$("${CARGO:-cargo}" test --quiet ${STUDIO_FEATURES:+--features "$STUDIO_FEATURES"} --test providers --no-run --message-format=json |
    python3 -c 'import json, sys
for line in sys.stdin:
    made = json.loads(line)
    if made.get("executable") and made["target"]["name"] == "providers":
        print(made["executable"])')
wait_for llmock "$llmock_port" 30
wait_for aimock "$aimock_port" 30
wait_for llamacpp "$llamacpp_port" 60
wait_for litellm "$litellm_port" 300

export STUDIO_LLMOCK_URL="http://127.0.0.1:$llmock_port" STUDIO_AIMOCK_URL="http://127.0.0.1:$aimock_port"
export STUDIO_LLAMACPP_URL="http://127.0.0.1:$llamacpp_port" STUDIO_LITELLM_URL="http://127.0.0.1:$litellm_port"
"$binary" --include-ignored --skip in_bounded_memory "$@"
# This one measures its process, so it has one of its own.
"$binary" --ignored --test-threads 1 in_bounded_memory
