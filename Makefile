# `make run` serves the studio in a small web application, `make test` proves everything. Both install what they need.

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

# Providers, knowledge, MCP, prices and stream adapters against programs that others wrote, a line for each; they come from PyPI and npm.
test-peers:
	@scripts/test-peers.sh

test-providers:
	@scripts/test-peers.sh prices providers

# One conversation with each real provider whose key is set (`docs/providers.md`): it costs money, and says how much. Without keys it says whom it would ask.
test-live:
	@scripts/test-live.sh

# The stream adapters with the clients that others wrote, the AI SDK's `Chat` and AG-UI's `HttpAgent`, against hosts in Rust, Node.js, Python and PHP.
test-adapters:
	@scripts/test-peers.sh adapters

# The pages in a real browser: a few minutes, with Chromium, nginx, Node.js; `SCALE=1` adds large graphs and traces.
test-pages:
	@scripts/test-ui.sh

# Two tabs of the pages by chance, over a bad line, with a host that dies; SEED, STEPS, SECONDS say what and how long.
test-walk:
	@scripts/test-walk.sh

# The suites on PostgreSQL, in a private cluster that is removed afterwards. Run by CI too.
test-postgres:
	@scripts/test-postgres.sh

# Hosts and workers as processes that are killed and stopped while thousands of runs go through, on PostgreSQL and on one file.
test-chaos:
	@scripts/test-chaos.sh

# People, workers, hosts and accidents played against engines by chance; SEED, DEEDS, SECONDS, PGURL say what and how long.
test-lifecycle:
	@scripts/test-lifecycle.sh

# MCP servers that others wrote, and the conformance suite for clients; needs Node.js and PyPI.
test-mcp:
	@scripts/test-mcp.sh

# Retrieval by meaning, with a real embeddings model.
test-knowledge:
	@scripts/test-knowledge.sh

# Every host language: its own tests and the scenario that all hosts pass, a line for each. One language: `make test-go`.
test-hosts:
	@scripts/test-hosts.sh

# Beside the scenario: silent streams, load, ends, races of close, forks, cost, held against the host of every language; about half an hour. One language: `scripts/test-suites.sh go`.
test-suites:
	@scripts/test-suites.sh

# The workflows of CI and releases, linted: actionlint, zizmor.
test-workflows:
	@scripts/test-workflows.sh

# The TypeScript client of the API: units, its package in an empty project.
test-client:
	@scripts/test-client.sh

test-cpp test-csharp test-go test-jvm test-node test-php test-ruby:
	@scripts/$@.sh

# Arize Phoenix, a real receiver of OpenTelemetry (PyPI, 850 MB), is told of a run and asked for it again.
test-observability:
	@scripts/test-observability.sh

# Requests made from the description of the API by schemathesis (PyPI), at least CASES of them.
test-api:
	@scripts/test-api.sh

# The wake-up of streams in every order of its threads, with loom. Part of `make test`.
test-wakeup:
	@scripts/test-wakeup.sh

# Hostile definitions in an optimised build: memory, stack and time of every interpreter.
test-hostile:
	@scripts/test-hostile.sh

# Exported classes under the compilers and checkers of PHP, Python, Ruby, TypeScript, Rust and Kotlin; needs npm and Maven Central.
test-codegen:
	@scripts/test-codegen.sh

# Hostile input for five minutes each: all that people, models, servers and files give to read (`fuzz/fuzz_targets`).
fuzz:
	@scripts/fuzz.sh

# Files that are made from the code and committed: C headers, the Python module.
generate:
	@scripts/prepare.sh build
	@scripts/generate.sh

# The version of the library and of all packages: `make version` says it, `make version TO=0.2.0` writes it into every manifest.
version:
	@scripts/version.py $(TO)

# The bundled prices and models, from the newest packages of PyPI that collect them.
prices:
	@scripts/prices.sh

# The bundled table of models, from the packages that are pinned and `scripts/models/facts.json`.
models:
	@scripts/prices.sh models

# The shared library, its headers for C and C++, what pkg-config and CMake tell of them, and the program.
install:
	@scripts/prepare.sh build
	cargo rustc --release --lib --crate-type cdylib
	cargo build --release --bin studio
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(TARGET)/release/studio $(DESTDIR)$(PREFIX)/bin/studio
	scripts/place.sh $(TARGET)/release/libwfstudio.so $(DESTDIR)$(PREFIX) $(PREFIX)
	[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

# What is published for all languages, from an optimised library, with the sums of all files, in $(TARGET)/packages.
# `make packages GLIBC=2.17` links by zig, so that the library also loads where glibc is that old.
packages:
	@scripts/prepare.sh packages
	WFSTUDIO_LIBRARY=$$(scripts/library.sh $(GLIBC)) scripts/package.sh all $(TARGET)/packages

# Each package made, installed alone into an empty folder, and run there; a line for each language.
test-packages:
	@scripts/test-packages.sh
