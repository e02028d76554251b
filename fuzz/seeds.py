"""Writes what fuzzing begins with into the folders of a corpus that are there: `seeds.py CORPUS`. Most of it comes from the tests."""

import json
import pathlib
import re
import sys

corpus = pathlib.Path(sys.argv[1])
tests = pathlib.Path("tests")


def seeds(target, pieces):
    folder = corpus / target
    if folder.exists():
        for at, piece in enumerate(sorted({piece if isinstance(piece, bytes) else piece.encode() for piece in pieces})):
            (folder / f"seed-{at}").write_bytes(piece)


def strings(*files):
    """The texts between quotes in sources, read without their escapes."""
    plain = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
    for source in (source for pattern in files for source in sorted(pathlib.Path(".").glob(pattern))):
        text = source.read_text()
        yield from re.findall(r'r#"(.*?)"#', text, re.S)
        for found in re.findall(r'(?<![r#\w])"((?:[^"\\]|\\.)*)"', text, re.S):
            yield re.sub(r"\\(\n\s*|.)", lambda one: "" if one[1][0] == "\n" else plain.get(one[1], one[1]), found)


# Frames of each family of providers, whole and streamed.
order = ["openai", "openai-responses", "anthropic", "gemini", "ollama", "cohere", "deepseek", "openrouter", "mistral"]
answers, streams = [], []
for family, frames in json.load(open("src/providers/seeds.json")).items():
    frames = [json.dumps(frame) for frame in frames]
    streamed = "".join(f"{frame}\n" if family == "ollama" else f"data: {frame}\n\n" for frame in frames) + "data: [DONE]\n\n"
    for piece, text in ((249, streamed), (248, frames[-1])):
        answers.append(bytes([order.index(family), piece]) + text.encode())
        streams.append(text[:2000])
seeds("answers", answers)
seeds("streams", streams)

# Graphs as the tests sketch them.
sketches = (re.findall(r'"(start -> (?:[^"\\]|\\")*)"', source.read_text()) for source in tests.rglob("*.rs"))
seeds("graph", [text.replace('\\"', '"') for found in sketches for text in found])

calculations = [text for text in strings("src/model/condition/**/*.rs", "tests/hostile/conditions.rs") if len(text) > 3]
seeds("condition", calculations + ['"a"\ntext', '{"rules":[{"state_key":"a","operator":"regex","value":"a+"}],"logic":"any"}'])
seeds("template", [text for text in strings("src/model/template_text.rs") if "{{" in text] + ["{{a}} {{b.c[1]}} {{"])

# Requests.
seeds("requests", [text for text in strings("src/http/adapters/**/*.rs", "tests/it/adapters/*.rs", "tests/it/api/*.rs") if len(text) > 3])
seeds("requests", [
    "L7", "7", "bytes=0-3", "q=a&limit=7&include=x,y", "2026-11-20T10:00:00.5-03:00", "2026-11-20", "0.02", "failed,queued", "=1+1", "a,\"b\"\r\n",
    json.dumps({"id": "c", "messages": [{"role": "user", "parts": [
        {"type": "text", "text": "hi"}, {"type": "file", "url": "data:text/plain;base64,aGk=", "mediaType": "text/plain"}]}]}),
    json.dumps({"id": "c", "messages": [{"role": "assistant", "parts": [
        {"type": "tool-a", "toolCallId": "x", "state": "approval-responded", "approval": {"id": "p:x", "approved": True}}]}]}),
    json.dumps({"threadId": "t", "runId": "r", "state": {}, "context": [{"a": 1}], "messages": [
        {"id": "m", "role": "user", "content": [{"type": "binary", "data": "aGk=", "mimeType": "a/b"}]}],
        "resume": [{"interruptId": "p", "status": "resolved", "payload": {"approved": True}}]}),
])
part = '--b\r\nContent-Disposition: form-data; name="{}"{}\r\n\r\nhello\r\n'
file = part.format("file", '; filename="a.txt"\r\nContent-Type: text/plain')
seeds("form", ["\x07b\n" + file + part.format("type", "") + "--b--\r\n", "\x01b\npreamble\r\n--b\r\n\r\n\r\n--b--"])

# What models, tools and servers say.
seeds("arguments", [text for text in strings("src/providers/**/*.rs") if text.startswith(("{", "["))])
seeds("script", ["{}\n" + text for text in strings("src/tools/builder/sandbox/tests.rs") if len(text) > 3])
mcp = [text for text in strings("src/tools/mcp/*.rs", "tests/it/mcp/*.rs") if text.startswith(("{", "["))] + [
    '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a"},{"type":"image","data":"AA","mimeType":"a/b"}],"structuredContent":{"a":1}}}',
    '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"b","inputSchema":{"type":"object"}}],"nextCursor":"c"}}',
    '{"slug":"s","transport":"stdio","command":"x","args":["a"],"env":{"A":"secret:x"},"headers":{"a":"b"},"token":"t","only":["a"],"timeout_ms":1}',
]
seeds("mcp", ["\x10" + text for text in mcp] + ["\x10data: " + text + "\n\n" for text in mcp])

# Definitions.
classes = [text.encode() for text in strings("src/codegen/read/tests/*.rs", "src/codegen/write/tests.rs") if len(text) > 8]
classes += [file.read_bytes()[:6000] for kind in ("php", "py", "ts", "kt", "swift", "rb") for file in sorted(tests.rglob(f"*.{kind}"))[:10]]
seeds("source", [bytes([target]) + text for target in range(7) for text in classes])
schemas = [
    '{"type":"object","required":["id"],"properties":{"id":{"type":"string","pattern":"^a+$"},"n":{"items":{"minimum":2}}},"additionalProperties":false}',
    '{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/a"}]}}}', '{"if":{"const":1},"then":{"enum":[1]},"else":{"not":{}}}',
    '{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false,"patternProperties":{"^x":{"multipleOf":0.1}},"uniqueItems":true}',
]
seeds("schema", [schema + "\n" + value for schema in schemas for value in ('{"id":"a","n":[1]}', "[1,1]", "1")])
row = {"provider": "p", "model": "m*", "match": "prefix", "from": "2026-01-01", "input": "0.15", "output": "1", "cached_input": "0.1", "reasoning": "3"}
row["tiers"] = [{"above_prompt_tokens": 10, "input": "2"}]
seeds("prices", [json.dumps({"version": 1, "currency": "USD", "per_tokens": 1000, "models": [row, {**row, "match": "exact", "model": "m"}]})])
seeds("masking", ["token,api-key\nsecret-value,abcdefgh\n" + text for text in strings("src/model/redaction/tests.rs", "src/secrets/masking.rs")])

# Documents.
seeds("documents", [b"\x05\x02" + text.encode() for text in strings("src/knowledge/text/html.rs", "src/knowledge/chunk.rs") if len(text) > 3])
page = (
    "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>/Contents 4 0 R>>endobj\n"
    "4 0 obj<</Length 33>>stream\nBT /F 9 Tf 1 1 Td (hello) Tj ET   \nendstream endobj\ntrailer<</Root 1 0 R>>\n"
)
seeds("pdf", [page] + [file.read_bytes() for file in sorted(tests.rglob("*.pdf")) if file.stat().st_size < 8192])
