# `make run` serves the studio in a small web application. `make test` runs the main tests. Both install what they need.

PREFIX ?= /usr/local
PORT ?= 8787
TARGET := $(or $(CARGO_TARGET_DIR),target)

.PHONY: run test test-peers test-adapters test-api test-codegen test-pages test-walk test-postgres test-chaos test-lifecycle test-providers test-live test-mcp test-knowledge test-observability test-hostile test-wakeup test-client test-packages test-workflows test-go test-node test-hosts test-suites test-ruby test-php test-jvm test-cpp test-csharp fuzz generate version prices install packages models

run:
	@scripts/prepare.sh build
	@echo "Building; the first time takes some minutes."
	cargo build --example axum
	@cargo run --quiet --example axum -- --port $(PORT) $(if $(CONFIG),--config $(CONFIG))

test:
	@scripts/test.sh

# Tests providers, knowledge, MCP, prices and stream adapters against third-party programs from PyPI and npm. Prints a line for each suite.
test-peers:
	@scripts/test-peers.sh

test-providers:
	@scripts/test-peers.sh prices providers

# Holds one conversation with each real provider whose key is set (`docs/providers.md`). It costs money and prints how much. Without keys it lists the providers.
test-live:
	@scripts/test-live.sh

# Tests the stream adapters with third-party clients (the AI SDK's `Chat`, AG-UI's `HttpAgent`) against hosts in Rust, Node.js, Python and PHP.
test-adapters:
	@scripts/test-peers.sh adapters

# Tests the pages in a real browser (Chromium, with nginx and Node.js). Takes a few minutes. `SCALE=1` adds large graphs and traces.
test-pages:
	@scripts/test-ui.sh

# Makes random steps in two tabs of the pages, over a bad connection, with a host that dies. SEED, STEPS and SECONDS set what it does and for how long.
test-walk:
	@scripts/test-walk.sh

# Runs the test suites on PostgreSQL, in a temporary cluster.
test-postgres:
	@scripts/test-postgres.sh

# Kills and stops hosts and workers while they execute thousands of runs, on PostgreSQL and on SQLite.
test-chaos:
	@scripts/test-chaos.sh

# Simulates random actions of people, workers and hosts, and random accidents, against engines. SEED, DEEDS, SECONDS and PGURL set what it does and for how long.
test-lifecycle:
	@scripts/test-lifecycle.sh

# Tests MCP against third-party servers and with the conformance suite for clients. Needs Node.js and PyPI.
test-mcp:
	@scripts/test-mcp.sh

# Tests searches by meaning, with a real embeddings model.
test-knowledge:
	@scripts/test-knowledge.sh

# Tests C++, Go, Ruby, PHP, Node.js, C# and the TypeScript client: for each its own tests and the scenario that all hosts pass. One language: `make test-go`.
# Java and Kotlin have their own target, `make test-jvm`. `make test` tests Rust, C and Python.
test-hosts:
	@scripts/test-hosts.sh

# Tests the hosts of all languages beyond the scenario: silent streams, load, exits, races of close, forks, cost. Takes about half an hour. One language: `scripts/test-suites.sh go`.
test-suites:
	@scripts/test-suites.sh

# Lints the workflows of CI and releases (actionlint, zizmor).
test-workflows:
	@scripts/test-workflows.sh

# Tests the TypeScript client of the API: unit tests, and its package in an empty project.
test-client:
	@scripts/test-client.sh

test-cpp test-csharp test-go test-jvm test-node test-php test-ruby:
	@scripts/$@.sh

# Sends a run to Arize Phoenix, a real OpenTelemetry receiver (PyPI, 850 MB), and reads it back from there.
test-observability:
	@scripts/test-observability.sh

# Sends at least CASES requests that schemathesis (PyPI) generates from the description of the API.
test-api:
	@scripts/test-api.sh

# Tests the wake-up of streams in every order of its threads, with loom. Part of `make test`.
test-wakeup:
	@scripts/test-wakeup.sh

# Tests the memory, stack and time that hostile definitions use in every interpreter, in an optimised build.
test-hostile:
	@scripts/test-hostile.sh

# Checks exported classes with the compilers and type checkers of PHP, Python, Ruby, TypeScript, Rust and Kotlin. Needs npm and Maven Central.
test-codegen:
	@scripts/test-codegen.sh

# Runs each program of `fuzz/fuzz_targets` for five minutes, with hostile input from people, models, servers and files.
fuzz:
	@scripts/fuzz.sh

# Regenerates the committed files that are made from the code: C headers, the generated parts of the bindings, the API description.
generate:
	@scripts/prepare.sh build
	@scripts/generate.sh

# `make version` prints the version of the library and of all packages. `make version TO=0.2.0` writes a new version into every manifest.
version:
	@scripts/version.py $(TO)

# Regenerates the bundled prices and models from the newest price collections on PyPI.
prices:
	@scripts/prices.sh

# Regenerates the bundled table of models from the pinned price collections and `scripts/models/facts.json`.
models:
	@scripts/prices.sh models

# Installs the shared library, its headers for C and C++, the files for pkg-config and CMake, and the program `studio`.
install:
	@scripts/prepare.sh build
	cargo rustc --release --lib --crate-type cdylib
	cargo build --release --bin studio
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(TARGET)/release/studio $(DESTDIR)$(PREFIX)/bin/studio
	scripts/place.sh $(TARGET)/release/libwfstudio.so $(DESTDIR)$(PREFIX) $(PREFIX)
	[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

# Builds the packages of all languages, with an optimised library and the checksums of all files, in $(TARGET)/packages.
# `make packages GLIBC=2.17` links with zig, so that the library also loads on systems with glibc 2.17.
packages:
	@scripts/prepare.sh packages
	WFSTUDIO_LIBRARY=$$(scripts/library.sh $(GLIBC)) scripts/package.sh all $(TARGET)/packages

# Builds each package, installs it into an empty folder and runs it there. Prints a line for each language.
test-packages:
	@scripts/test-packages.sh
