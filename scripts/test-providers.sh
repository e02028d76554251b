#!/usr/bin/env bash
# Holds the shared suite of conversations with model providers that others wrote, all installed under the target folder:
# llmock (PyPI) and aimock (npm), which play providers; the llama.cpp server (PyPI xllamacpp) with a small model made here; LiteLLM (PyPI) before it.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/peers.sh

python_peer litellm 'litellm[proxy]==1.106.2'
python_peer llmock llmock==0.2.2
python_peer llamacpp xllamacpp==2026.10.11549 gguf==0.19.0 numpy==2.2.6
node_peer aimock @copilotkit/aimock@1.43.0

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
# One that pauses between chunks, so that it can see who stopped listening.
slow_llmock_port=$(free_port)
start slow_llmock "$peers/llmock/bin/llmock" serve --port "$slow_llmock_port" --stream-chunk-delay-ms 60
aimock_port=$(free_port)
start aimock node "$peers/aimock/node_modules/@copilotkit/aimock/dist/cli.js" -p "$aimock_port" -f tests/providers/aimock

# While they start, the tests are built.
program=$(test_program providers)
wait_for llmock "$llmock_port" 60 /_llmock/verdict
wait_for slow_llmock "$slow_llmock_port" 60 /_llmock/verdict
wait_for aimock "$aimock_port" 60 /health
wait_for llamacpp "$llamacpp_port" 60 /health
wait_for litellm "$litellm_port" 300 /health/liveliness

export STUDIO_LLMOCK_URL="http://127.0.0.1:$llmock_port" STUDIO_SLOW_LLMOCK_URL="http://127.0.0.1:$slow_llmock_port"
export STUDIO_AIMOCK_URL="http://127.0.0.1:$aimock_port"
export STUDIO_LLAMACPP_URL="http://127.0.0.1:$llamacpp_port" STUDIO_LITELLM_URL="http://127.0.0.1:$litellm_port"
timeout 400 "$program" --include-ignored --skip in_bounded_memory "$@"
# This one measures its process, so it has one of its own.
timeout 600 "$program" --ignored --test-threads 1 in_bounded_memory
