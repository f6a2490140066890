# Needs Python 3.11 or newer, gcc and make; everything else is installed into .venv.
PYTHON ?= $(shell for p in python3.12 python3.11 python3; do \
  if $$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$p; break; fi; done)
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
EXAMPLE ?= matmul
PYTEST ?= $(BIN)/python -m pytest
# A test waits for its processes half of the time, so one for each core; more than four would disturb each other's devices.
SPREAD ?= -n logical --maxprocesses 4 --dist worksteal

.PHONY: setup demo test quick lint check clean help

help: ## what can be made
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(DEV) ## virtual environment with everything, in .venv

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: install it, or say make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Two stamps, so that the demo does not wait for the developers' tools; a second call of either does nothing.
$(RUNTIME): $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(DEV): $(RUNTIME)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(RUNTIME) ## evolve the matmul example on this machine (another one: make demo EXAMPLE=softmax)
	$(BIN)/evo-tune run examples/$(EXAMPLE)/campaign.yaml
	@echo "Results are in examples/$(EXAMPLE)/results: open report.html, read changes.md, take best.cu."

test: $(DEV) ## every test
	$(PYTEST) $(SPREAD)

quick: $(DEV) ## every test but the slow ones
	$(PYTEST) $(SPREAD) -m "not slow"

# Where it is set, every process that a test starts would compile the whole program again.
test quick: export PYTHONDONTWRITEBYTECODE =

lint: $(DEV) ## ruff, import-linter, mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

check: lint test ## lint and test: what CI runs

clean: ## remove everything that was built
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
