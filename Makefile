# Two commands do everything: `make run` and `make test`. Both set the machine up first (infra/setup.sh).
SHELL := /bin/bash
PY := .venv/bin/python
DESKHAND_HOME ?= $(CURDIR)/.deskhand
ROUND ?=
# files run side by side, a file's tests one after another; in their order, or the last files would be those of few
# long tests; and more than there are cores, for they wait as much as they compute
SIDE_BY_SIDE ?= -n 3 --dist loadfile --no-loadscope-reorder
export DESKHAND_HOME
# where it is set, every process that starts compiles all of Deskhand anew: half of its start
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run test test-slow check check-types check-style check-web bench format clean

help: ## What each target does
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## Install everything (idempotent; seconds the second time)
	@infra/setup.sh

run: setup ## One training round on real pages, then the web page stays open (ROUND=name picks a preset, RUN_ARGS=--exit ends with it)
	@$(PY) -m deskhand_platform.cli.app run $(if $(ROUND),--round $(ROUND)) $(RUN_ARGS)

test: setup check ## Every check and test that ends in minutes
	@$(PY) -m pytest -m "not slow and not gpu" $(SIDE_BY_SIDE) --durations=25 --durations-min=10 $(PYTEST_ARGS)
	@cd web_ui && npm test --silent

test-slow: setup ## The slower proofs: every task, kills in the middle, long soaks
	@.venv/bin/deskhand sandbox build vm
	@$(PY) -m pytest -m "slow and not gpu" --timeout=1800 $(PYTEST_ARGS)

check: setup ## ruff, format, pyright, import-linter, web lint
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check-types check-style check-web

check-types:
	@.venv/bin/pyright --warnings

check-style:
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/lint-imports --no-cache

check-web:
	@cd web_ui && npm run --silent check

format: ## Let ruff format the Python code
	@.venv/bin/ruff check --fix --quiet . ; .venv/bin/ruff format --quiet .

bench: setup ## Every measurement, written to docs/results/
	@$(PY) -m deskhand_platform.cli.app bench all

clean: ## Remove what setup and runs made (asks nothing of the system packages)
	rm -rf .venv web_ui/node_modules platform/deskhand_platform/static .deskhand
