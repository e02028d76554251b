#!/usr/bin/env bash
# Requests made from the description of the API by a program of others (schemathesis, PyPI), sent to the example host over HTTP: no answer
# may be an internal error, or differ from the description. `CASES` is how many requests are made at least, `SEED` plays them again.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
scripts/prepare.sh peers
. scripts/peers.sh
python_peer schemathesis schemathesis==4.32.5
"${CARGO:-cargo}" build --quiet --example axum --features "${STUDIO_FEATURES:-header,bindgen}"
program=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/debug/examples/axum

cases=${CASES:-20000}
seed=${SEED:-$(date +%s)}
port=$(free_port)
work=$(mktemp -d)
cat >"$work/studio.toml" <<CONF
environment = "local"
async_runs_enabled = true
[database]
path = "$work/studio.sqlite"
[timeouts]
run_seconds = 5
[limits]
streams = 1000
[rag]
embeddings_provider = "hash"
CONF
start host "$program" --port "$port" --config "$work/studio.toml"
wait_for host "$port" 30 /studio/workflows
export STUDIO_API=http://127.0.0.1:$port/studio SCHEMATHESIS_HOOKS=seed PYTHONPATH=$root/scripts/api
echo "seed $seed, at least $cases requests"
each=$((cases / 130 + 1))
done=0
while [ "$done" -lt "$cases" ]; do
    # Files of the run lie beside its database; connections that a stream keeps open end with the run.
    (cd "$work" && "$peers/schemathesis/bin/schemathesis" run "$root/docs/openapi.json" --url "$STUDIO_API" \
        --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
        --header "X-Requested-With: test" --request-timeout 20 --phases examples,fuzzing --max-examples "$each" \
        --continue-on-failure --workers 2 --generation-database none --warnings off --seed "$seed" >"$work/told" 2>&1) ||
        { cat "$work/told"; exit 1; }
    made=$(sed -n 's/^ *\([0-9]*\) generated.*/\1/p' "$work/told")
    done=$((done + made))
    seed=$((seed + 1))
    echo "$done requests, no finding"
    kill -0 "$pid_of_host" || { cat "$peers/host.log"; exit 1; }
done
rm -rf "$work"
echo "$done passed, 0 failed"
