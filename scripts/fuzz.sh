#!/usr/bin/env bash
# Runs the programs in fuzz/, one after another: `scripts/fuzz.sh [seconds of each, 300] [their names]`. Needs a nightly compiler and cargo-fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-300}
shift $(($# > 0))
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(answers streams graph condition template)
work="${CARGO_TARGET_DIR:-target}/fuzz"
mkdir -p "$work"
work="$(cd "$work" && pwd)"
export PATH="$work/tools/bin:$PATH"

# The C code of SQLite is linked twice, which is of no consequence here.
export ASAN_OPTIONS="detect_odr_violation=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
rustup toolchain list | grep -q ^nightly || rustup toolchain install nightly --profile minimal
cp Cargo.lock fuzz/Cargo.lock # the versions of the product
command -v cargo-fuzz >/dev/null || cargo install --quiet --locked --root "$work/tools" cargo-fuzz

for name in "${names[@]}"; do mkdir -p "$work/corpus/$name"; done
# Something real to begin with: frames of each family, whole and streamed; graphs as the tests sketch them.
python3 - "$work/corpus" <<'END'
import json, pathlib, re, sys
corpus = pathlib.Path(sys.argv[1])
order = ["openai", "openai-responses", "anthropic", "gemini", "ollama", "cohere", "deepseek", "openrouter", "mistral"]
for family, frames in json.load(open("src/providers/seeds.json")).items():
    frames = [json.dumps(frame) for frame in frames]
    streamed = "".join(f"{frame}\n" if family == "ollama" else f"data: {frame}\n\n" for frame in frames) + "data: [DONE]\n\n"
    for name, piece, text in (("streamed", 249, streamed), ("whole", 248, frames[-1])):
        if (corpus / "answers").exists():
            (corpus / "answers" / f"{family}-{name}").write_bytes(bytes([order.index(family), piece]) + text.encode())
        if (corpus / "streams").exists():
            (corpus / "streams" / f"{family}-{name}").write_text(text[:2000])
sketches = {text for source in pathlib.Path("tests").rglob("*.rs") for text in re.findall(r'"(start -> (?:[^"\\]|\\")*)"', source.read_text())}
for at, text in enumerate(sorted(sketches)):
    if (corpus / "graph").exists():
        (corpus / "graph" / f"sketch-{at}").write_text(text.replace('\\"', '"'))
END

for name in "${names[@]}"; do
    printf '\n== %s\n' "$name"
    nice cargo +nightly fuzz run --target-dir "$work/target" "$name" "$work/corpus/$name" -- \
        -max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 -verbosity=0
done
