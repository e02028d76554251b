#!/usr/bin/env bash
# Tells Arize Phoenix (PyPI), a real receiver of OpenTelemetry, of a run, and reads the spans back; it is installed under the target folder.
set -euo pipefail
cd "$(dirname "$0")/.."
peers="${CARGO_TARGET_DIR:-target}/peers"
mkdir -p "$peers"
peers="$(cd "$peers" && pwd)"
version=20.26.1

if ! "$peers/phoenix/bin/python" -c "import importlib.metadata as m; assert m.version('arize-phoenix') == '$version'" 2>/dev/null; then
    rm -rf "$peers/phoenix"
    python3 -m venv "$peers/phoenix"
    "$peers/phoenix/bin/pip" install --quiet --disable-pip-version-check "arize-phoenix==$version"
fi

free_port() { scripts/free-port.py; }
folder=$(mktemp -d "$peers/phoenix-XXXXXX")
port=$(free_port)
PHOENIX_WORKING_DIR="$folder" PHOENIX_HOST=127.0.0.1 PHOENIX_PORT="$port" PHOENIX_GRPC_PORT="$(free_port)" PHOENIX_TELEMETRY_ENABLED=false \
    "$peers/phoenix/bin/phoenix" serve >"$peers/phoenix.log" 2>&1 &
phoenix=$!
end() {
    kill "$phoenix" 2>/dev/null || true
    wait "$phoenix" 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT

# While it starts, the test is built.
binary=$("${CARGO:-cargo}" test --quiet ${STUDIO_FEATURES:+--features "$STUDIO_FEATURES"} --test it --no-run --message-format=json |
    python3 -c 'import json, sys
for line in sys.stdin:
    made = json.loads(line)
    if made.get("executable") and made["target"]["name"] == "it":
        print(made["executable"])')
for _ in $(seq 600); do
    curl --silent --fail --max-time 5 --output /dev/null "http://127.0.0.1:$port/" && ready=1 && break
    kill -0 "$phoenix" 2>/dev/null || break
    sleep 0.2
done
[ "${ready:-}" ] || { echo "phoenix did not start:" >&2; tail -n 40 "$peers/phoenix.log" >&2; exit 1; }
STUDIO_PHOENIX_URL="http://127.0.0.1:$port" "$binary" --include-ignored observability::peer "$@"
