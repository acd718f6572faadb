# Two commands for everybody: `make demo` and `make test`. They need Python 3.11 or newer and a package index, nothing else.
#   PYTHON=python3.12     the interpreter to build .venv with
#   DEMO_ARGS=…           arguments of `gatewatch demo`, for example DEMO_ARGS="--no-dashboard --events 20000"
#   PYTEST_ARGS=…         arguments of pytest, for example PYTEST_ARGS="-k gates -x"
#   WORKERS=…             how many processes run the tests
#   FUZZ_LINES=…          how many lines `make fuzz` makes besides the 200,000 of `make test`
#   BENCH_ARGS=…          arguments of `python -m benchmarks`, for example BENCH_ARGS=--quick or BENCH_ARGS="declare growth"
#   LOCK_ARGS=--upgrade   for `make lock`: newer versions instead of the locked ones

PYTHON ?= python3
UV ?= uv
DEMO_ARGS ?=
PYTEST_ARGS ?=
LOCK_ARGS ?=
BENCH_ARGS ?=
FUZZ_LINES ?= 1800000
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

VENV := .venv
PEERS := benchmarks/.venv-peers
BIN := $(VENV)/bin

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
export PIP_NO_INPUT := 1

# Wheels with the hashes of the lock only: nothing is built, so nothing unpinned is fetched to build it with.
INSTALL := $(BIN)/python -m pip install --quiet --require-hashes --only-binary :all:
INSTALL_SELF := $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --no-index --editable .
LOCK := $(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
	--custom-compile-command "make lock" $(LOCK_ARGS)

.DEFAULT_GOAL := help
.PHONY: help demo test faults fuzz bench dev lint types arrows lock clean moved

help:
	@echo "make demo     sample data, ledger, database, findings and the dashboard, from nothing"
	@echo "make test     every test that this machine can run; skips say why"
	@echo "make faults   every kill, tampering, mutated line and broker fault; prints their counts (two hours)"
	@echo "make fuzz     the fast validator against the event models on 1,800,000 further mutated lines; prints counts (half an hour)"
	@echo "make bench    rates and ratios beside DuckDB, pydantic, dlt, Phoenix, kafka-python and PM4Py; growth; report (two hours)"
	@echo "make lint     ruff (check and format)"
	@echo "make types    mypy"
	@echo "make arrows   import-linter: imports only point down"
	@echo "make lock     write the lock files anew (needs uv)"
	@echo "make clean    remove .venv, builds and caches"

demo: $(VENV)/.demo
	$(BIN)/gatewatch demo $(DEMO_ARGS)

# A file's tests stay in one process, which shares their fixtures; the files run side by side, in the order of
# tests/conftest.py. One more than there are cores, since some wait for a browser, a broker or a process that was killed.
# In CI a skip counts as a failure unless this platform cannot run the test at all: tests/plugin_skips.py.
test: $(VENV)/.dev
	$(BIN)/pytest -ra -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(if $(filter true,$(CI)),-p tests.plugin_skips) $(PYTEST_ARGS)

# One after the other, so that each can print what it counted.
faults: $(VENV)/.dev
	GATEWATCH_FAULTS=all $(BIN)/pytest -ra -s tests/faults tests/ingest/test_tail_law.py $(PYTEST_ARGS)

# In one process, so that it can print what it counted.
fuzz: $(VENV)/.dev
	GATEWATCH_FUZZ=$(FUZZ_LINES) $(BIN)/pytest -ra -s tests/ingest/columnar/test_soundness.py tests/ingest/columnar/test_soundness_received.py $(PYTEST_ARGS)

# What Gatewatch is compared with has an environment of its own (1.4 GB), which nothing else uses.
bench: $(VENV)/.dev $(PEERS)/.made
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

$(PEERS)/.made: benchmarks/requirements-peers.txt | $(VENV)/.made
	@echo "Installing the programs that Gatewatch is compared with into $(PEERS) (once, some minutes)"
	@rm -rf $(PEERS)
	@"$(PYTHON)" -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --require-hashes --only-binary :all: -r benchmarks/requirements-peers.txt
	@touch $@

dev: $(VENV)/.dev

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

arrows: $(VENV)/.dev
	$(BIN)/lint-imports

# The files left behind say that an environment is complete, so that a second `make test` installs nothing.
$(VENV)/.demo: requirements.lock requirements-build.lock pyproject.toml $(VENV)/.made
	@echo "Installing the pinned dependencies into $(VENV) (once)"
	@$(INSTALL) -r requirements.lock -r requirements-build.lock
	@$(INSTALL_SELF)
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml $(VENV)/.made
	@echo "Installing the pinned dependencies and test tools into $(VENV) (once)"
	@$(INSTALL) -r requirements-dev.lock
	@$(INSTALL_SELF)
	@touch $(VENV)/.demo $@

$(VENV)/.made:
	@command -v "$(PYTHON)" >/dev/null || { echo "gatewatch needs Python 3.11 or newer, and there is no $(PYTHON): name one with 'make PYTHON=/path/to/python3.11 …'" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "gatewatch needs Python 3.11 or newer, and $(PYTHON) is $$("$(PYTHON)" -V 2>&1): name another with 'make PYTHON=/path/to/python3.11 …'" >&2; exit 1; }
	@rm -rf $(VENV)
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	@pwd -P > $@

# A virtual environment holds absolute paths: copied or moved with its checkout it would run the old checkout's code.
ifneq ($(wildcard $(VENV)/.made),)
ifneq ($(shell cat $(VENV)/.made),$(shell pwd -P))
$(VENV)/.made: moved
endif
endif

lock:
	@command -v "$(UV)" >/dev/null || { echo "make lock needs uv: name it with 'make lock UV=/path/to/uv'" >&2; exit 1; }
	$(LOCK) --output-file requirements.lock pyproject.toml
	$(LOCK) --output-file requirements-dev.lock --constraints requirements.lock --group dev pyproject.toml
	$(LOCK) --output-file requirements-build.lock --constraints requirements-dev.lock --group build
	$(LOCK) --output-file benchmarks/requirements-peers.txt benchmarks/peers.in

clean:
	rm -rf $(VENV) $(PEERS) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name .git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +
