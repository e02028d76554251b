# `make run` opens the studio in a small web application, `make test` proves everything. Both install what they need.

PREFIX ?= /usr/local
PORT ?= 8787
TARGET := $(or $(CARGO_TARGET_DIR),target)
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

.PHONY: run test test-pages test-postgres test-providers test-mcp test-knowledge fuzz generate install

run:
	@scripts/prepare.sh build
	cargo run --quiet --example axum -- --port $(PORT)

test:
	@scripts/test.sh

# The pages in a real browser, and the model providers against real programs: slower, and they need Chromium, nginx, Node.js, PyPI.
test-pages:
	@scripts/test-ui.sh

test-providers:
	@scripts/test-prices.sh
	@scripts/test-providers.sh

# The suites on PostgreSQL, in a private cluster that is removed afterwards. Run by CI too.
test-postgres:
	@scripts/test-postgres.sh

# MCP servers that others wrote, and the conformance suite for clients; needs Node.js and PyPI.
test-mcp:
	@scripts/test-mcp.sh

# Retrieval by meaning, with a real embeddings model.
test-knowledge:
	@scripts/test-knowledge.sh

# Hostile input for five minutes each: answers of providers, streams, graphs, conditions, templates. Needs a nightly compiler.
fuzz:
	@scripts/fuzz.sh

# Files that are made from the code and committed: C headers, the Python module.
generate:
	@scripts/prepare.sh build
	@scripts/generate.sh

# The shared library, its header, and what pkg-config tells of them.
install:
	@scripts/prepare.sh build
	cargo rustc --release --lib --crate-type cdylib
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include
	install -m 755 $(TARGET)/release/libstudio.so $(DESTDIR)$(PREFIX)/lib/libstudio.so.$(VERSION)
	ln -sf libstudio.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/libstudio.so.1
	ln -sf libstudio.so.1 $(DESTDIR)$(PREFIX)/lib/libstudio.so
	install -m 644 include/studio.h include/studio.ffi.h $(DESTDIR)$(PREFIX)/include/
	printf 'prefix=%s\nlibdir=$${prefix}/lib\nincludedir=$${prefix}/include\n\nName: studio\nDescription: Workflow Studio\nVersion: %s\nLibs: -L$${libdir} -lstudio\nCflags: -I$${includedir}\n' \
		'$(PREFIX)' '$(VERSION)' > $(DESTDIR)$(PREFIX)/lib/pkgconfig/studio.pc
