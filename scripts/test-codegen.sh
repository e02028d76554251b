#!/usr/bin/env bash
# Exported classes under the checkers and compilers of their languages, and run where they can be: PHP, Ruby (Debian, with the contracts of their bindings), Python (with the package of
# bindings/python), TypeScript (npm), Rust (against the crate), Kotlin (Maven Central). What `definition()` returns must be what was exported.
# Swift has no compiler in Debian: where `swiftc` is installed its files are type-checked, otherwise that is said.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
scripts/prepare.sh codegen
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/codegen
files=$work/files
stubs=$root/tests/codegen/stubs
features=${STUDIO_FEATURES:-header,bindgen}
rm -rf "$files"
mkdir -p "$files"

scripts/test-library.sh
STUDIO_CODEGEN_FILES=$files cargo test --quiet --features "$features" --test it codegen::checkers -- --ignored >/dev/null

# Compares `{class: definition}` on stdin with what was exported.
compare() {
    python3 "$root/tests/codegen/compare.py" "$files/$1/expected.json" "$1"
}
each() { # files of a language with this extension
    find "$files/$1" -name "*.$2" | sort
}

echo "php: $(php -r 'echo PHP_VERSION;')"
each php php | while read -r file; do php -l "$file" >/dev/null; done
php "$root/tests/codegen/run.php" "$files/php" | compare php

. "$root/scripts/peers.sh"
python_peer mypy mypy==2.4.1
echo "python: $(python3 -V), $("$peers/mypy/bin/mypy" --version)"
each python py | xargs python3 -W error -m py_compile
mapfile -t sources < <(each python py)
MYPYPATH=$root/bindings/python "$peers/mypy/bin/mypy" --no-error-summary --explicit-package-bases --follow-imports=silent --cache-dir="$work/mypy" "${sources[@]}"
WFSTUDIO_LIBRARY=$(cd "$target" && pwd)/debug/libwfstudio.so PYTHONPATH=$root/bindings/python PYTHONDONTWRITEBYTECODE=1 python3 -W error "$root/tests/codegen/run.py" "$files/python" | compare python

echo "ruby: $(ruby -e 'print RUBY_VERSION')"
each ruby rb | while read -r file; do
    told=$(ruby -wc "$file" 2>&1)
    [ "$told" = "Syntax OK" ] || { echo "$file: $told" >&2; exit 1; }
done
ruby -w "$root/tests/codegen/run.rb" "$files/ruby" | compare ruby

typescript=$work/typescript
[ -x "$typescript/node_modules/.bin/tsc" ] || npm install --silent --no-fund --no-audit --prefix "$typescript" typescript@5.9.3
echo "typescript: $("$typescript/node_modules/.bin/tsc" --version)"
mapfile -t sources < <(each typescript ts)
# The contracts of bindings/node, under the name that its package has.
package=$files/typescript/node_modules/$(node -p "require('$root/bindings/node/package.json').name")
"$typescript/node_modules/.bin/tsc" --declaration --emitDeclarationOnly --target es2022 --outDir "$package" bindings/node/src/contracts.ts
mv "$package/contracts.d.ts" "$package/index.d.ts"
"$typescript/node_modules/.bin/tsc" --strict --target es2022 --module es2022 --moduleResolution bundler \
    --outDir "$typescript/out" --rootDir "$files/typescript" "${sources[@]}"
echo '{"type":"module"}' >"$typescript/out/package.json"
node "$root/tests/codegen/run.mjs" "$files/typescript" "$typescript/out" | compare typescript

echo "rust: $(rustc --version)"
python3 "$root/tests/codegen/rust_main.py" "$files/rust" >"$work/main.rs"
rustc --edition 2024 -D warnings -A dead_code -C debuginfo=0 --extern "wfstudio=$target/debug/libwfstudio.rlib" \
    -L "dependency=$target/debug/deps" -o "$work/rust-classes" "$work/main.rs"
"$work/rust-classes" | compare rust

kotlin=$work/kotlin
kotlin_version=2.1.20
[ -e "$kotlin/lib/kotlin-compiler-embeddable-$kotlin_version.jar" ] || {
    mkdir -p "$kotlin"
    sed "s/@VERSION@/$kotlin_version/" "$root/tests/codegen/kotlin.pom.xml" >"$kotlin/pom.xml"
    (cd "$kotlin" && mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DoutputDirectory="$kotlin/lib")
}
echo "kotlin: $kotlin_version"
python3 "$root/tests/codegen/kotlin_main.py" "$files/kotlin" >"$files/kotlin/Main.kt"
mapfile -t sources < <(each kotlin kt)
java -Xmx1500m -Xss16m -cp "$kotlin/lib/*" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib -no-reflect -Werror -nowarn \
    -classpath "$kotlin/lib/kotlin-stdlib-$kotlin_version.jar" -d "$kotlin/out" "$stubs/StudioContracts.kt" "${sources[@]}"
java -cp "$kotlin/out:$kotlin/lib/kotlin-stdlib-$kotlin_version.jar" checks.MainKt | compare kotlin

if command -v swiftc >/dev/null 2>&1; then
    echo "swift: $(swiftc --version 2>&1 | head -n 1)"
    mkdir -p "$work/swift"
    swiftc -emit-module -module-name WfStudio -o "$work/swift/WfStudio.swiftmodule" bindings/swift/Sources/WfStudio/Contracts.swift
    mapfile -t sources < <(each swift swift)
    swiftc -typecheck -I "$work/swift" "${sources[@]}"
else
    echo "swift: no compiler here; $(each swift swift | wc -l) files were written and not checked"
fi
