#!/usr/bin/env bash
# Tests the Ruby binding and the raw module of uniffi: engine, processes, loader, mounts, Rails; then the conformance scenario under Puma, Rails and Sinatra.
set -euo pipefail
cd "$(dirname "$0")/.."
library=${WFSTUDIO_LIBRARY:-${CARGO_TARGET_DIR:-$PWD/target}/debug/libwfstudio.so}
export WFSTUDIO_LIBRARY=$(realpath "$library")

needed=(ruby ruby-ffi ruby-rack ruby-rack-test ruby-sinatra puma ruby-rails ruby-minitest ruby-async gcc)
scripts/debian.sh "${needed[@]}"

for test in bindings/ruby/test/test_*.rb; do
    echo "# $test"
    ruby -W1 "$test"
done
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
ln -s "$WFSTUDIO_LIBRARY" "$raw/libwfstudio.so"
LD_LIBRARY_PATH=$raw ruby bindings/uniffi/ruby/smoke.rb
scripts/test-packages.sh ruby
[ -x bindings/conformance/run ] || { echo "# bindings/conformance is not here: scenario skipped"; exit 0; }
for framework in "" rails sinatra; do
    echo "# scenario ${framework:-puma}"
    bindings/conformance/run --lang ruby ${framework:+--framework "$framework"}
done
bindings/conformance/run --lang ruby --suite exits
