# Every target does its own set-up; `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help demo test slow security live faults crash torture damage check coverage mutants fuzz bench requirements docs golden pins setup clean

BIN := .venv/bin
PY := $(BIN)/python
STAGE := @sh tools/stage.sh
SECONDS ?= 300
KILLS ?= 500
POINTS ?= 60
PAIRS ?= 4
FULL ?=

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

demo: setup ## watch a scripted team repair a small project, for real: no key, no network
	@$(BIN)/podium demo

test: setup ## the fast tests
	@$(PY) -m pytest -q -m "not slow and not live and not security"

slow: setup ## the tests that take longer
	@$(PY) -m pytest -q -m slow || [ $$? -eq 5 ] # 5: there is none

security: setup ## attacks on walls, trees, gates and the ways out, with counts; FULL=1 for all
	@PODIUM_FULL=$(FULL) $(PY) -m pytest -q -m security tests/security

live: setup ## the real claude, codex and gemini against a model server on this machine; installs them in .venv-live
	@sh tools/live.sh
	@$(PY) -m pytest -q -m live tests/live

faults: setup ## the live tests of faults, whose results become docs/reference/agent-faults.md
	@sh tools/live.sh
	@$(PY) tools/faults.py

crash: setup ## real processes: killed at 99 named points and a dozen random moments; strays, secrets, paths
	@$(PY) -m pytest -q tests/crash tests/e2e

torture: setup ## runs killed at POINTS=60 points of each story and KILLS=500 random moments, with counts
	@PODIUM_KILLS=$(KILLS) PODIUM_POINTS=$(POINTS) PODIUM_PAIRS=$(PAIRS) $(PY) -m pytest -q tests/crash
	@PODIUM_RUNS=10000 $(PY) -m pytest -q -m slow tests/simulate/test_worst.py

damage: setup ## a disk that fails at many writes, bits that turn over, engines that fight for a run, with counts
	@PODIUM_FLIPS=1000 PODIUM_FAULTS=84 PODIUM_LEVELS=100 PODIUM_FIGHTS=20 $(PY) -m pytest -q -s \
		tests/engine/test_damage.py tests/engine/test_faulty_disk.py tests/crash/test_small_disk.py tests/crash/test_fights.py

check: setup ## everything a change must pass: format, lint, types, layers, docs, test
	$(STAGE) format 1m $(BIN)/ruff format --check .
	$(STAGE) lint 1m $(BIN)/ruff check .
	$(STAGE) types 8m $(BIN)/mypy
	$(STAGE) layers 2m $(PY) -m pytest -q tests/test_architecture.py
	$(STAGE) docs 2m $(PY) tools/docs.py --check
	$(STAGE) test 25m $(PY) -m pytest -q -m "not slow and not live and not security"

coverage: setup ## every branch of the core and the language must be tested
	@PODIUM_HYPOTHESIS=coverage $(PY) -m coverage run -m pytest -q -m "not slow and not live and not security" tests/core tests/workflow tests/simulate tests/contracts tests/dialects
	@$(PY) -m coverage report

mutants: setup ## plant bugs in the core and see that a property catches each
	@$(PY) tools/mutants.py

fuzz: setup ## random files and expressions for SECONDS=300
	@$(PY) tools/fuzz.py --seconds $(SECONDS)

bench: setup ## what is promised about speed, measured here beside the floor and a peer
	@[ -x .venv-bench/bin/python ] || { $(PY) -m venv .venv-bench && .venv-bench/bin/python -m pip install --quiet --require-hashes -r requirements/bench.txt; }
	@$(PY) -m bench

requirements: setup ## which tests show which requirement, and which have none
	@$(PY) tools/requirements.py

docs: setup ## write the generated reference pages again
	@$(PY) tools/docs.py

golden: setup ## write the stored logs of tests/golden again; after the first release only for new cases
	@$(PY) tools/golden.py

pins: ## resolve and pin the dependencies again
	@sh tools/pins.sh

setup:
	@sh tools/setup.sh

clean: ## remove everything that was made here
	rm -rf .venv .venv-bench build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
