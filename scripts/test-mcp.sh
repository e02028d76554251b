#!/usr/bin/env bash
# Speaks with MCP servers that others wrote, over both transports and both generations of the protocol, and plays the client in the
# conformance suite: server-everything and conformance (npm), mcp (PyPI), installed under the target folder. In its scenarios
# of OAuth tests/mcp/authorize.py plays the application that gets tokens. All client scenarios run but those of two extensions: DPoP, where each
# request is signed, and skills.
set -euo pipefail
cd "$(dirname "$0")/.."
peers="${CARGO_TARGET_DIR:-target}/peers"
mkdir -p "$peers/mcp"
peers="$(cd "$peers/mcp" && pwd)"
everything_version=2026.8.31
conformance_version=0.1.16
conformance_next_version=0.2.0-alpha.12
python_version=2.3.0

if ! "$peers/python/bin/python" -c "import importlib.metadata as m; assert m.version('mcp') == '$python_version'" 2>/dev/null; then
    python3 -m venv "$peers/python"
    "$peers/python/bin/pip" install --quiet --disable-pip-version-check "mcp==$python_version"
fi
everything="$peers/node_modules/@modelcontextprotocol/server-everything"
conformance="$peers/node_modules/@modelcontextprotocol/conformance"
conformance_next="$peers/node_modules/conformance-next"
is_installed() { grep -qs "\"version\": \"$2\"" "$1/package.json"; } # folder, version
if ! { is_installed "$everything" "$everything_version" && is_installed "$conformance" "$conformance_version" && is_installed "$conformance_next" "$conformance_next_version"; }; then
    npm install --prefix "$peers" --silent --no-audit --no-fund node@22 \
        "@modelcontextprotocol/server-everything@$everything_version" "@modelcontextprotocol/conformance@$conformance_version" \
        "conformance-next@npm:@modelcontextprotocol/conformance@$conformance_next_version"
fi
node="$peers/node_modules/node/bin/node"

free_port() { scripts/free-port.py; }
started=()
end() { for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done; }
trap end EXIT
begin() { # name, port, program with arguments
    local name=$1 port=$2
    shift 2
    "$@" >"$peers/$name.log" 2>&1 &
    started+=($!)
    for _ in $(seq 600); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return
        kill -0 "${started[-1]}" 2>/dev/null || break
        sleep 0.2
    done
    echo "$name did not start:" >&2
    cat "$peers/$name.log" >&2
    exit 1
}

everything_port=$(free_port)
begin everything "$everything_port" env PORT="$everything_port" "$node" "$everything/dist/index.js" streamableHttp
python_port=$(free_port)
begin python "$python_port" "$peers/python/bin/python" tests/mcp/server.py "$python_port"

export STUDIO_MCP_AUTHORIZE="$peers/python/bin/python $PWD/tests/mcp/authorize.py" STUDIO_MCP_SCOPES="$peers/scopes"
export STUDIO_MCP_EVERYTHING="$node $everything/dist/index.js stdio" STUDIO_MCP_EVERYTHING_URL="http://127.0.0.1:$everything_port/mcp"
export STUDIO_MCP_PYTHON="$peers/python/bin/python $PWD/tests/mcp/server.py" STUDIO_MCP_PYTHON_URL="http://127.0.0.1:$python_port/mcp"
cargo="${CARGO:-cargo}"
"$cargo" test --quiet ${STUDIO_FEATURES:+--features "$STUDIO_FEATURES"} --test it mcp::real -- --include-ignored --skip mcp::real::conforms "$@"

program=$("$cargo" test ${STUDIO_FEATURES:+--features "$STUDIO_FEATURES"} --test it --no-run 2>&1 | sed -n 's/.*(\(.*\/it-[0-9a-f]*\))/\1/p')
conform() { # the suite, its version, revision of the protocol or nothing for extensions, scenarios
    local suite=$1 version=$2 revision=$3 scenario log tries try
    shift 3
    for scenario in "$@"; do
        log="$peers/conformance-$version-${revision:-extension}-${scenario//\//-}.log"
        # One looks at the clock, too: when somebody comes back who was told when to. On a busy machine that may be half a second late.
        tries=1
        [ "$scenario" != sse-retry ] || tries=5
        for try in $(seq "$tries"); do
            rm -f "$STUDIO_MCP_SCOPES"
            MCP_CONFORMANCE_SCENARIO=$scenario "$node" "$suite/dist/index.js" client --scenario "$scenario" ${revision:+--spec-version "$revision"} --timeout 120000 \
                --command "$(realpath "$program") --exact mcp::real::conforms --ignored" >"$log" 2>&1 && break
            [ "$try" != "$tries" ] && grep -q 'reconnected very late' "$log" || { cat "$log"; exit 1; }
        done
        echo "conformance $version, ${revision:-extension}, $scenario: passed"
    done
}
oauth="auth/metadata-default auth/metadata-var1 auth/metadata-var2 auth/metadata-var3 auth/basic-cimd auth/scope-from-www-authenticate
    auth/scope-from-scopes-supported auth/scope-omitted-when-undefined auth/scope-step-up auth/scope-retry-limit auth/token-endpoint-auth-basic
    auth/token-endpoint-auth-post auth/token-endpoint-auth-none auth/pre-registration"
oauth_of_old="auth/2025-03-26-oauth-metadata-backcompat auth/2025-03-26-oauth-endpoint-fallback"
oauth_of_new="auth/resource-mismatch auth/offline-access-scope auth/offline-access-not-supported"
extensions="auth/client-credentials-jwt auth/client-credentials-basic"
older="initialize tools_call elicitation-sep1034-client-defaults sse-retry"
# shellcheck disable=SC2086 # lists of names
{
    conform "$conformance" "$conformance_version" 2025-11-25 $older $oauth
    conform "$conformance" "$conformance_version" 2025-06-18 initialize tools_call
    conform "$conformance" "$conformance_version" 2025-03-26 $oauth_of_old
    conform "$conformance" "$conformance_version" draft $oauth_of_new
    conform "$conformance" "$conformance_version" extension $extensions auth/cross-app-access-complete-flow
    conform "$conformance_next" "$conformance_next_version" 2025-11-25 $older json-schema-2020-12-preservation $oauth
    conform "$conformance_next" "$conformance_next_version" 2025-03-26 $oauth_of_old
    conform "$conformance_next" "$conformance_next_version" 2026-07-28 tools_call request-metadata sep-2322-client-request-state \
        http-standard-headers http-custom-headers http-invalid-tool-headers json-schema-ref-no-deref json-schema-2020-12-preservation $oauth $oauth_of_new \
        auth/authorization-server-migration auth/iss-supported auth/iss-not-advertised auth/iss-supported-missing auth/iss-wrong-issuer \
        auth/iss-unexpected auth/iss-normalized auth/metadata-issuer-mismatch
    conform "$conformance_next" "$conformance_next_version" "" $extensions auth/enterprise-managed-authorization auth/wif-jwt-bearer
}
