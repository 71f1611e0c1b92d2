# Flowmill's commands. `make` lists them.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WHEELS := dist
SOURCES := $(shell git ls-files -co --exclude-standard -- crates python pyproject.toml Cargo.toml Cargo.lock)

.DEFAULT_GOAL := help

# A build from nothing gains nothing by being incremental and takes a quarter longer. Debug information and pip's cache would take disk alone.
ifdef CI
export CARGO_INCREMENTAL := 0
export CARGO_PROFILE_DEV_DEBUG := 0
export PIP_NO_CACHE_DIR := 1
endif

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

# NVRTC, which compiles the kernels of GPUs.
$(VENV)/.cuda-tools: python/requirements-cuda.txt | $(BIN)/pip
	$(BIN)/pip install -q --disable-pip-version-check -r $<
	@touch $@

# Clients of model servers, in an environment without pip and compiled modules, which would be a fourth of it. The messages that tensorflow-serving-api
# needs come from the TensorFlow of the tests; of the dependencies of kserve, its client needs those that the file lists.
CLIENTS := $(VENV)/serving-clients
CLIENTS_PIP := $(BIN)/pip --python $(CLIENTS)/bin/python install -q --disable-pip-version-check --no-compile
$(VENV)/.serving-clients: tests/python/serving/requirements.txt | $(BIN)/pip
	@rm -rf $(CLIENTS)
	@$(BIN)/python -m venv --without-pip $(CLIENTS)
	$(CLIENTS_PIP) -r $<
	$(CLIENTS_PIP) --no-deps 'tensorflow-serving-api==2.21.*' 'kserve==0.21.*'
	@touch $@

# What drives a browser, if there is one.
BROWSER := $(or $(FLOWMILL_CHROMIUM),$(firstword $(foreach name,chromium chromium-headless-shell chromium-browser google-chrome,$(shell command -v $(name) 2>/dev/null))))
$(VENV)/.page-tools: | $(BIN)/pip
	$(BIN)/pip install -q --disable-pip-version-check --no-compile 'playwright==1.*'
	@touch $@

.PHONY: browser
browser: ## installs a browser for the tests of the front page (Debian, as root; 400 MB)
	apt-get install -y -q --no-install-recommends chromium-headless-shell
	@$(MAKE) --no-print-directory $(VENV)/.page-tools

# The stub of the CUDA driver runs the kernels of GPUs as C++ of the host.
.PHONY: cxx
cxx:
	@command -v $${CXX:-c++} >/dev/null || { echo "flowmill: a C++ compiler is missing: install g++ or clang++ (Debian: apt install g++)"; exit 1; }

# The stub of the CUDA driver, for tests in Python.
.PHONY: stub
stub: | tools cxx
	cargo build --release --locked --quiet --package stub-cuda

.PHONY: wheel
wheel: $(WHEELS)/.built ## builds the release wheel into dist/

$(WHEELS)/.built: $(SOURCES) $(VENV)/.build-tools
	@rm -rf $(WHEELS) && mkdir -p $(WHEELS)
	$(BIN)/maturin build --release --locked --quiet --out $(WHEELS)
	$(BIN)/python python/compress_wheel.py $(WHEELS)/*.whl
	@touch $@

.PHONY: install
install: $(VENV)/.installed ## installs the release wheel into .venv

$(VENV)/.installed: $(WHEELS)/.built
	$(BIN)/pip install -q --disable-pip-version-check --force-reinstall --no-deps $(WHEELS)/*.whl
	$(BIN)/pip install -q --disable-pip-version-check $(WHEELS)/*.whl
	@touch $@

.PHONY: demo
demo: $(VENV)/.build-tools ## loads the digits SavedModel, classifies its 297 held-back images
	@if ! $(MAKE) --no-print-directory -q $(VENV)/.installed 2>/dev/null; then \
		$(MAKE) --no-print-directory $(QUICK)/.built || exit 1; export PYTHONPATH=$(QUICK)/site; \
	fi; $(BIN)/python examples/digits/demo.py

# Where no release wheel is installed, the demo has one that is optimised less and built in half the time.
QUICK := target/quick-wheel
$(QUICK)/.built: $(SOURCES) $(VENV)/.build-tools
	@rm -rf $(QUICK) && mkdir -p $(QUICK)
	$(BIN)/maturin build --profile quick --locked --quiet --out $(QUICK)
	$(BIN)/pip install -q --disable-pip-version-check --target $(QUICK)/site $(QUICK)/*.whl
	@touch $@

.PHONY: fmt lint
fmt: | tools ## formats the Rust code
	cargo fmt --all

lint: $(VENV)/.build-tools | tools ## formatting, clippy, names in Python
	cargo fmt --all --check
	$(BIN)/ruff check --quiet --select F .
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

# The package of the working tree, with a core whose checks are on. The installed wheel goes, and comes back by `make install`.
.PHONY: develop
develop: $(VENV)/.develop ## installs a debug build of the working tree into .venv
	cargo build --workspace --locked --quiet
	ln -sf ../../$$(ls target/debug/lib_core.so target/debug/lib_core.dylib 2>/dev/null) python/flowmill/_core.abi3.so
	@$(BIN)/pip uninstall -q -y flowmill 2>/dev/null; rm -f $(VENV)/.installed

$(VENV)/.develop: | $(BIN)/pip
	$(BIN)/pip install -q --disable-pip-version-check numpy
	$(BIN)/python -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "flowmill.pth").write_text("$(CURDIR)/python\n")'
	@touch $@

.PHONY: doc
doc: | tools ## the crates' documentation; a warning is a failure
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

.PHONY: stubs
stubs: develop ## writes the package's stubs, for type checkers and editors
	$(BIN)/python python/make_stubs

# The tables first: the build contains them.
.PHONY: generated
generated: | tools ## writes what follows from ops, kernels and public names: methods, tables, stubs, pages
	BLESS=1 cargo test --workspace --locked --quiet --test definitions --test generated_ops --test kernel_types
	BLESS=1 cargo test --workspace --locked --quiet --test gpu listing
	@$(MAKE) --no-print-directory stubs
	$(BIN)/python docs/make_api_page.py

.PHONY: test-rust test-loom test-fuzz test-python
# Always the whole workspace: with `-p` cargo picks other features for the dependencies and builds all of it again.
test-rust: $(VENV)/.cuda-tools | tools cxx ## Rust's tests; crate layers, dependencies, generated code
	FLOWMILL_CUDA_PATH=$$(echo $(CURDIR)/$(VENV)/lib/python3*/site-packages/nvidia/cu*/lib) cargo test --workspace --locked --quiet --no-fail-fast

test-loom: | tools ## model checks of the lock-free protocols
	cargo test -p flowmill-runtime --features loom --locked --quiet --lib models

test-fuzz: | tools ## each fuzz target for a bounded time from its seeds
	FLOWMILL_FUZZ_SECONDS=10 cargo test --workspace --test targets --locked --quiet -- --nocapture

test-python: install stub $(VENV)/.test-tools $(VENV)/.serving-clients $(if $(BROWSER),$(VENV)/.page-tools) ## pytest, with TensorFlow as the oracle
	$(BIN)/python -m pytest -q tests/python

.PHONY: test-develop
test-develop: develop $(VENV)/.test-tools ## TESTS="FILES OPTIONS" of pytest, on a debug build of the working tree
	$(BIN)/python -m pytest -q $(or $(TESTS),tests/python)

.PHONY: test test-native
test-native: lint doc test-rust test-loom test-fuzz ## everything but the tests in Python

# Two lanes beside each other, since each by itself leaves a core idle for a good part of its time: cargo locks a build folder for each profile, so
# that the wheel is built while the unoptimised crates are. What the native lane says is shown when it ends.
test: $(VENV)/.build-tools $(VENV)/.cuda-tools | tools ## everything CI runs
	@mkdir -p target; trap 'kill 0' INT TERM; \
	{ $(MAKE) --no-print-directory --keep-going test-native >target/test-native.log 2>&1; status=$$?; cat target/test-native.log; exit $$status; } & native=$$!; \
	$(MAKE) --no-print-directory test-python; python=$$?; \
	wait $$native && exit $$python

.PHONY: test-long
test-long: install $(VENV)/.test-tools ## all random programs at every number of threads, races, servers under load (two and a half hours)
	FLOWMILL_LONG=1 cargo test --workspace --locked --quiet --test reload
	FLOWMILL_LONG=1 $(BIN)/python -m pytest -q tests/python/serving/test_faults.py tests/python/serving/test_soak.py
	FLOWMILL_LONG=1 $(BIN)/python -m pytest -q tests/python/test_random_programs.py tests/python/api/test_random_graphs.py tests/python/test_long_races.py

# What needs no GPU runs on the stub in `make test`. Without a GPU, all of these are skipped, and say so.
.PHONY: test-gpu
test-gpu: install $(VENV)/.test-tools $(VENV)/.cuda-tools ## the tests of GPUs on those of this machine
	$(BIN)/python -m pytest -q -rs tests/python/gpu

.PHONY: bench-gpu
bench-gpu: install $(VENV)/.cuda-tools ## measures the first GPU, beside PyTorch and ONNX Runtime if installed; writes benches/GPU.md
	$(BIN)/python benches/gpu.py --write

.PHONY: bench
bench: install $(VENV)/.test-tools ## the table of benches/README.md, against TensorFlow and ONNX Runtime
	$(BIN)/pip install -q --disable-pip-version-check -r benches/peers/requirements.txt
	$(BIN)/python benches/peers/run.py

.PHONY: clean
clean: ## removes what the commands above made
	rm -rf $(VENV) $(WHEELS) target
