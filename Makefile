# Flowmill's commands. `make` lists them.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WHEELS := dist
SOURCES := $(shell git ls-files -co --exclude-standard -- crates python pyproject.toml Cargo.toml Cargo.lock)

.DEFAULT_GOAL := help

.PHONY: help
help: ## lists the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: tools
tools:
	@command -v cargo >/dev/null || { echo "flowmill: cargo is missing: install stable Rust (https://rustup.rs)"; exit 1; }
	@command -v cc >/dev/null || { echo "flowmill: a C compiler is missing: install gcc or clang (Debian: apt install gcc)"; exit 1; }
	@command -v $(PYTHON) >/dev/null || { echo "flowmill: $(PYTHON) is missing: install Python 3.10 or later"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "flowmill: Python 3.10 or later is needed, $$($(PYTHON) --version) found"; exit 1; }

$(BIN)/pip: | tools
	@$(PYTHON) -m venv $(VENV) || $(PYTHON) -m virtualenv -q $(VENV) || { rm -rf $(VENV); echo "flowmill: Python cannot make virtual environments (Debian: apt install python3-venv)"; exit 1; }

$(VENV)/.build-tools: python/requirements-build.txt | $(BIN)/pip
	$(BIN)/pip install -q --disable-pip-version-check -r $<
	@touch $@

$(VENV)/.test-tools: python/requirements-test.txt | $(BIN)/pip
	$(BIN)/pip install -q --disable-pip-version-check -r $<
	@touch $@

.PHONY: wheel
wheel: $(WHEELS)/.built ## builds the release wheel into dist/

$(WHEELS)/.built: $(SOURCES) $(VENV)/.build-tools
	@rm -rf $(WHEELS) && mkdir -p $(WHEELS)
	$(BIN)/maturin build --release --locked --quiet --out $(WHEELS)
	@touch $@

.PHONY: install
install: $(VENV)/.installed ## installs the release wheel into .venv

$(VENV)/.installed: $(WHEELS)/.built
	$(BIN)/pip install -q --disable-pip-version-check --force-reinstall --no-deps $(WHEELS)/*.whl
	$(BIN)/pip install -q --disable-pip-version-check $(WHEELS)/*.whl
	@touch $@

.PHONY: demo
demo: install ## loads the digits SavedModel, classifies its 297 held-back images
	$(BIN)/python examples/digits/demo.py

.PHONY: fmt lint layers licences
fmt: | tools ## formats the Rust code
	cargo fmt --all

lint: | tools ## formatting, clippy, crate layers, licences, generated code
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	cargo run -q -p xtask -- layers
	cargo run -q -p xtask -- licences
	cargo run -q -p xtask -- proto --check

.PHONY: test-rust test-loom test-fuzz test-python
test-rust: | tools ## Rust's unit, integration and doc tests
	cargo test --workspace --locked --quiet

test-loom: | tools ## model checks of the lock-free protocols
	RUSTFLAGS="--cfg loom" cargo test -p flowmill-runtime --locked --quiet --target-dir target/loom --lib executor

test-fuzz: | tools ## each fuzz target for a bounded time from its seeds
	cargo run -q -p flowmill-fuzz --locked -- --seconds 10

test-python: install $(VENV)/.test-tools ## pytest, with TensorFlow as the oracle
	$(BIN)/python -m pytest -q tests/python

.PHONY: test
test: lint test-rust test-loom test-fuzz test-python ## everything CI runs

.PHONY: test-long
test-long: install $(VENV)/.test-tools ## all random programs, at every number of threads (an hour)
	FLOWMILL_LONG=1 $(BIN)/python -m pytest -q tests/python/test_random_programs.py

.PHONY: bench
bench: install $(VENV)/.test-tools ## the table of benches/README.md, against TensorFlow and ONNX Runtime
	$(BIN)/pip install -q --disable-pip-version-check -r benches/peers/requirements.txt
	$(BIN)/python benches/peers/run.py

.PHONY: clean
clean: ## removes what the commands above made
	rm -rf $(VENV) $(WHEELS) target
