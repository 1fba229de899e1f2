# Every target sets up what it needs; a second run starts at once.

VENV := .venv
PYTHON := $(VENV)/bin/python
READY := $(VENV)/.ready
BROWSER := $(VENV)/.browser

# One more than there are cores: who waits for a disk or a browser leaves its core to another.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# The public data sets, if they lie beside this folder. Tests say what they skip without them.
ifndef HOLDFAST_DATA
ifneq ($(wildcard ../shared/data),)
export HOLDFAST_DATA := $(abspath ../shared/data)
endif
endif

.PHONY: run test test-long test-llm check setup bench bench-peers replay docs format clean help

run: $(READY)          ## open the console: your own memory if there is a model, else a tour, and how to get one
	@$(VENV)/bin/holdfast start

test: $(READY) $(BROWSER)  ## all tests, a few minutes
	@$(VENV)/bin/pytest -n $(WORKERS) --dist worksteal

test-long: $(READY) $(BROWSER)  ## the same tests with 20 times the generated cases
	@HOLDFAST_TEST_SCALE=20 $(VENV)/bin/pytest -n $(WORKERS) --dist worksteal --timeout 5400

test-llm: $(READY)     ## flush, summary and restored answers with a real 1.5B model (fetches 1.1 GB once)
	@$(PYTHON) -m scripts.test_llm --write docs/embedded-run.md

check: $(READY)        ## format, lint, types, layers, docs
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports
	@$(PYTHON) -m scripts.docs --check

bench: $(READY)        ## measure, and keep the results in benchmarks/results
	@$(PYTHON) -m benchmarks

bench-peers: $(READY)  ## search beside memsearch and plain FTS5, each in its own environment
	@$(PYTHON) -m benchmarks.peers.run

replay: $(READY)       ## every public transcript through small windows, each strategy
	@$(PYTHON) -m scripts.replay_all

docs: $(READY)         ## write the generated pages again
	@$(PYTHON) -m scripts.docs

format: $(READY)       ## format and fix what can be fixed
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/ruff check --fix .

setup: $(READY)        ## only install what the other targets need

$(READY): pyproject.toml constraints.txt scripts/setup scripts/apt.sh
	@bash scripts/setup $(VENV)

# Only the tests of the console look at it through a browser.
$(BROWSER): scripts/setup-browser scripts/apt.sh | $(READY)
	@bash scripts/setup-browser $(VENV)

clean:                 ## remove everything that was installed or made
	rm -rf $(VENV) .peers .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist build

help:                  ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12
