#!/usr/bin/env bash
# Builds the library that the tests load. It is built with the examples, as `cargo test` does: without them, fewer features of some dependencies are
# asked for, and each of the two commands would build the library again after the other, also while a test has it loaded.
set -euo pipefail
cd "$(dirname "$0")/.."
"${CARGO:-cargo}" build --quiet --lib --examples --features "${STUDIO_FEATURES:-header,bindgen}"
