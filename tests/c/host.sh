#!/usr/bin/env bash
# Mounts everything in the C host and asks it as a browser would: pages, assets, JSON, a stream, a refusal, an upload.
set -euo pipefail
host=$1
trap 'kill $pid 2>/dev/null || true' EXIT
# Another program may have the port: then the host ends, and another port is tried.
for _ in 1 2 3 4 5; do
    port=$((20000 + RANDOM % 12000))
    rm -f host.sqlite*
    "$host" "$port" host.sqlite >host.log &
    pid=$!
    base=http://127.0.0.1:$port
    for _ in $(seq 600); do
        sleep 0.1
        kill -0 $pid 2>/dev/null || break
        ! curl -s -o /dev/null "$base/studio" || break
    done
    ! kill -0 $pid 2>/dev/null || break
done

fail() { echo "host: $*" >&2; exit 1; }
json=(-H 'Content-Type: application/json')
graph='{"version":1,"nodes":[{"id":"start","type":"start","position":{"x":0,"y":0},"data":{}},{"id":"llm","type":"llm","position":{"x":0,"y":0},"data":{"provider":"script","model":"echo","prompt":"{{input}}","stream":true}},{"id":"stop","type":"stop","position":{"x":0,"y":0},"data":{"reply":"{{llm_response}}"}}],"edges":[{"id":"a","source":"start","target":"llm","sourceHandle":"default","targetHandle":"default"},{"id":"b","source":"llm","target":"stop","sourceHandle":"default","targetHandle":"default"}]}'

curl -s "$base/studio/api/settings" | grep -q '"flags"' || fail "settings"
curl -s -o /dev/null -w '%{http_code}' "$base/studio/api/workflows/none" | grep -qx 404 || fail "404"
length() { curl -s "$@" | grep -i '^content-length: ' | tr -d '\r' | tr 'A-Z' 'a-z'; }
for path in api/settings workflows api/workflows/none; do
    whole=$(curl -s "$base/studio/$path" | wc -c)
    [ "$(length -I "$base/studio/$path")" = "content-length: $whole" ] || fail "HEAD of $path does not tell the length $whole of GET: $(length -I "$base/studio/$path")"
done
for bad in '%C0%AF' '%ED%A0%80' '%FF' $'\xc0\xaf' $'\xe9'; do
    curl -s -o /dev/null -w '%{http_code}' "$base/studio/api/workflows/$bad" | grep -qx 404 || fail "a path that is no UTF-8"
done
curl -s "${json[@]}" -d '{"name":' "$base/studio/api/workflows" | grep -q '"malformed_json"' || fail "malformed JSON"
curl -s -i "${json[@]}" -d "{\"name\":\"Echo \\\"äö\\\"\",\"slug\":\"echo\",\"graph\":$graph}" "$base/studio/api/workflows" >made.txt
grep -q '^HTTP/1.1 201' made.txt || fail "create: $(cat made.txt)"
grep -qi '^location: ' made.txt || fail "location"
grep -q 'Echo \\"äö\\"' made.txt || fail "text comes back as it was"
curl -s -N "${json[@]}" -d '{"message":"over the wire"}' "$base/studio/workflows/echo/run/stream" >stream.txt
grep -q '^event: trace_completed' stream.txt || fail "stream: $(cat stream.txt)"
head -n 1 stream.txt | grep -qx 'retry: 2000' || fail "opening frame"
printf '%s' 'a file of text' >upload.txt
curl -s -H 'X-Requested-With: test' -F file=@upload.txt "$base/studio/api/attachments" | grep -q storage_key || fail "upload"
kill -TERM $pid
wait $pid || fail "the host did not end cleanly"
trap - EXIT
