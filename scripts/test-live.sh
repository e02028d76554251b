#!/usr/bin/env bash
# Holds and records one conversation with each model provider whose key is set: `docs/providers.md`, "With the real providers".
# `--mock`: with llmock (PyPI) in their place, which costs nothing; recordings then go to the target folder. Its Anthropic knows no schemas.
set -euo pipefail
cd "$(dirname "$0")/.."
export STUDIO_FEATURES="${STUDIO_FEATURES-header,bindgen}"
source scripts/peers.sh

if [ "${1:-}" = --mock ]; then
    python_peer llmock llmock==0.2.2
    port=$(free_port)
    start llmock "$peers/llmock/bin/llmock" serve --port "$port"
    wait_for llmock "$port" 60 /_llmock/verdict
    # family: variable of its key, path at llmock
    while read -r id key path; do
        export "$key=sk-of-the-live-suite-0123456789" "STUDIO_LIVE_URL_$id=http://127.0.0.1:$port$path"
    done <<'END'
OPENAI OPENAI_API_KEY /v1
OPENAI_RESPONSES OPENAI_API_KEY /v1
GEMINI GEMINI_API_KEY /gemini
COHERE COHERE_API_KEY /cohere
MISTRAL MISTRAL_API_KEY /mistral/v1
GROQ GROQ_API_KEY /groq/openai/v1
XAI XAI_API_KEY /xai/v1
END
    export STUDIO_LIVE="${STUDIO_LIVE:-openai,openai-responses,gemini,cohere,mistral,groq,xai}"
    export STUDIO_LIVE_FOLDER="${STUDIO_LIVE_FOLDER:-$peers/recorded}" STUDIO_LIVE_SUFFIX=-llmock
fi
program=$(test_program providers)
timeout 1800 "$program" --ignored --nocapture --quiet live::each_provider
