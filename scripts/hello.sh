#!/usr/bin/env bash
# hello.sh COMMAND…: starts a first application (@PORT@ is a free port), asks for a page, makes the workflow `draft`, reads a stream of it and the
# application's own answer, then ends the application with SIGTERM: it has to end within 10 seconds, by no other signal.
set -euo pipefail
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"${@//@PORT@/$port}" >hello.log 2>&1 &
server=$!
trap 'kill -9 $server 2>/dev/null || true' EXIT
base=http://127.0.0.1:$port
fail() { echo "$1" >&2; tail -n 30 hello.log >&2; exit 1; }

for _ in $(seq 200); do curl -sf -o /dev/null "$base/studio/workflows" && break; kill -0 $server || fail "it did not start"; sleep 0.1; done
curl -sf "$base/studio/workflows" -H 'Accept: text/html' | grep -qi '<html' || fail "there is no page"
node() { printf '{"id":"%s","type":"%s","position":{"x":0,"y":0},"data":%s}' "$1" "$2" "$3"; }
edge='"sourceHandle":"default","targetHandle":"default"'
curl -sf -o /dev/null "$base/studio/api/workflows" -H 'Content-Type: application/json' -d "{\"name\":\"Draft\",\"slug\":\"draft\",\"graph\":{\"version\":1,
  \"nodes\":[$(node start start '{}'),$(node stop stop '{"reply":"{{input}}"}')],\"edges\":[{\"id\":\"a\",\"source\":\"start\",\"target\":\"stop\",$edge}]}}" || fail "no workflow was made"
curl -sfN "$base/studio/workflows/draft/run/stream" -H 'Content-Type: application/json' -d '{"message":"hi"}' | grep -q '^event: trace_completed' || fail "the stream did not end"
curl -sf "$base/events" | grep -q '^trace_completed' || fail "the application did not iterate"
kill -TERM $server
for _ in $(seq 100); do kill -0 $server 2>/dev/null || break; sleep 0.1; done
code=0; wait $server || code=$?
case $code in 0 | 143) ;; *) fail "it ended with $code" ;; esac
