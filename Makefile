# Every target does its own set-up; `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help demo cluster-demo wheel recording test near slow browser screenshots security security-user live live-newest faults crash team-kills torture cluster cluster-torture cluster-scale cluster-batch damage check coverage mutants money claims routes memory triggers history thorough formats fuzz bench regret phoenix requirements docs golden pins setup clean

# Compiled modules are stored even where the environment says otherwise: each worker of the tests would compile everything,
# which takes it eight seconds.
export PYTHONDONTWRITEBYTECODE :=

BIN := .venv/bin
PY := $(BIN)/python
STAGE := @sh tools/stage.sh
PYTEST := $(PY) -m pytest -q
# One worker more than a small machine has cores, for tests often wait for a child process; a worker that is done takes
# over from the others. WORKERS=0 runs everything in one process.
WORKERS ?= 3
PARALLEL := $(PYTEST) -n $(WORKERS) --dist worksteal
FAST := -m "not slow and not live and not security and not browser" --ignore=tests/browser --ignore=tests/crash --ignore=tests/e2e --ignore=tests/live
# A share of the cases of each file of a long suite, chosen by SEED; at least one case of every file runs.
SHARE ?= 1
SEED ?= 1
SAMPLE = --share $(SHARE) --share-seed $(SEED)
# More options for pytest; CI repeats failed tests with them.
AGAIN ?=
BASE ?= HEAD
COUNT ?= 1000
DRAWS ?= 0
SECONDS ?= 300
KILLS ?= 500
POINTS ?= 60
PAIRS ?= 4
RUNS ?= 2000
SCHEDULES ?= 10000
MEMORIES ?= 200
EVENTS ?= 1000
REAL ?= 50
SPLITS ?= 1000
FILES ?= 5000
FULL ?=
# Crashes and damage are tried on a disk, where fsync has work to do. So are the agent programs: codex 0.166 mounts a new
# /dev for its tools and sees no workspace in /dev/shm. Other temporary folders lie in memory.
DISK := $(or $(TMPDIR),/tmp)

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

demo: ## watch a scripted team repair a small project, for real: no key, no network
	@sh tools/setup.sh demo
	@$(BIN)/podium demo

cluster-demo: setup ## two workers of a real Temporal server, one of which is killed on the way: no key, no network, no root
	@$(PY) tools/cluster_demo.py

wheel: setup ## build the wheel, install it into an empty environment and run the demo with it
	$(STAGE) wheel 5m sh tools/wheel.sh

recording: setup ## record the demo and `podium show` in a real terminal for the README; needs tmux
	@$(PY) tools/recording.py

test: setup ## the fast tests, in less than three minutes
	$(STAGE) test 10m $(PARALLEL) $(FAST) $(AGAIN)

near: setup ## the fast tests of what differs from BASE=HEAD, by imports
	@$(PY) tools/near.py --base $(BASE)

slow: setup ## the real command as processes, crashes, long examples; SHARE=0.5 SEED=7 for a sample
	$(STAGE) slow 30m $(PARALLEL) -m slow $(SAMPLE) $(AGAIN)

browser: setup ## the pages in the system's Chromium: deciding, keys, phone, hostile words, WCAG 2.2 AA; SHARE=0.5 SEED=7
	$(STAGE) browser 15m $(PYTEST) -n $(WORKERS) --dist loadfile $(SAMPLE) $(AGAIN) tests/browser

SCREENSHOTS ?= build/screenshots
screenshots: setup ## pictures of every page in both schemes, desktop and phone, in SCREENSHOTS; those of the docs are renewed
	@mkdir -p $(SCREENSHOTS)
	@PODIUM_SCREENSHOTS=$(SCREENSHOTS) $(PYTEST) tests/browser/test_looks.py -k 'pictures_of_every_page or figures_over_many_runs'
	@for name in inbox-desk-light decide-desk-dark run-desk-light members-desk-light metrics-desk-light; do cp $(SCREENSHOTS)/$$name.png docs/images/pages/; done

security: setup ## attacks on sandbox, trees, gates and the ways out, with counts; FULL=1 for all
	@PODIUM_FULL=$(FULL) sh tools/stage.sh security 60m $(PARALLEL) -m security $(SAMPLE) $(AGAIN) tests/security

security-user: setup ## the same as a user without rights, whom root becomes
	@PODIUM_FULL=$(FULL) sh tools/stage.sh security-user 60m $(PY) tools/ordinary_user.py $(CURDIR)/$(PARALLEL) -m security $(SAMPLE) tests/security

# What every version of the programs must do; the rest of the suite also knows the words of one version.
LIVE_CONTRACT := tests/live/test_sandboxed.py tests/live/test_codex.py tests/live/test_continuity.py

live: setup ## the real claude, codex and gemini against a model server on this machine; installs them in .venv-live
	@sh tools/live.sh
	@sh tools/live.sh acp
	@sh tools/live.sh tools
	@PYTEST_DEBUG_TEMPROOT=$(DISK) sh tools/stage.sh live 30m $(PARALLEL) -m live $(SAMPLE) $(AGAIN) tests/live
	@sh tools/live.sh second
	@PODIUM_LIVE_PROGRAMS=$(CURDIR)/.venv-live/second PYTEST_DEBUG_TEMPROOT=$(DISK) sh tools/stage.sh live-second 15m $(PARALLEL) -m live $(SAMPLE) $(AGAIN) $(LIVE_CONTRACT)

live-newest: setup ## the newest published agent programs, a smaller part; reports and does not gate
	@sh tools/live.sh newest
	@for name in claude codex gemini; do echo "$$name: $$(.venv-live/newest/node_modules/.bin/$$name --version)"; done
	@PODIUM_LIVE_PROGRAMS=$(CURDIR)/.venv-live/newest PYTEST_DEBUG_TEMPROOT=$(DISK) sh tools/stage.sh live-newest 15m $(PARALLEL) -m live $(LIVE_CONTRACT) || echo "something has changed in the newest versions, see above"

faults: setup ## the live tests of faults, whose results become docs/reference/agent-faults.md
	@sh tools/live.sh
	@PYTEST_DEBUG_TEMPROOT=$(DISK) $(PY) tools/faults.py

crash: setup ## real processes: killed at 99 named points and a dozen random moments; strays, secrets, paths
	@PYTEST_DEBUG_TEMPROOT=$(DISK) $(PYTEST) tests/crash tests/e2e

team-kills: setup ## a team killed at KILLS=500 random moments; SEED=2 draws others, so that it can be run in parts
	@PODIUM_KILLS=$(KILLS) PODIUM_SEED=$(SEED) PYTEST_DEBUG_TEMPROOT=$(DISK) $(PYTEST) -m slow tests/crash/test_teams.py

torture: setup ## runs killed at POINTS=60 points of each story and KILLS=500 random moments, with counts
	@PODIUM_KILLS=$(KILLS) PODIUM_POINTS=$(POINTS) PODIUM_PAIRS=$(PAIRS) PYTEST_DEBUG_TEMPROOT=$(DISK) $(PYTEST) tests/crash
	@PODIUM_RUNS=10000 $(PARALLEL) tests/simulate/forecast/test_worst_case.py

cluster: setup ## runs on workers of a real Temporal server: each cell of the failure matrix once, and stored histories
	@sh tools/stage.sh cluster 10m $(PARALLEL) -m "slow or not slow" $(AGAIN) tests/temporal/test_failures.py tests/temporal/test_golden_histories.py

CELL ?= test_
TIMES ?= 1
cluster-torture: setup ## the failure matrix of a cluster at random moments, with counts; TIMES=0.2 for a fifth of them, CELL=frozen for some
	@PODIUM_TORTURE=$(TIMES) sh tools/stage.sh cluster-torture 120m $(PARALLEL) -m slow -k "$(CELL)" tests/temporal/test_failures.py

cluster-batch: setup ## BATCH=100 runs at once on two workers, one of which is killed: all pass
	@PODIUM_BATCH=$(or $(BATCH),100) sh tools/stage.sh cluster-batch 45m $(PYTEST) -s -m slow tests/temporal/test_batch.py

cluster-scale: setup ## a model of 10,000 runs on 500 workers: where work waits, what outages cost; the table of the docs
	@$(PY) -m bench.cluster_scale

damage: setup ## a disk that fails at many writes, bits that turn over, engines that fight for a run, with counts
	@PODIUM_FLIPS=1000 PODIUM_FAULTS=84 PODIUM_LEVELS=100 PODIUM_FIGHTS=20 PYTEST_DEBUG_TEMPROOT=$(DISK) $(PYTEST) -s \
		tests/engine/test_damage.py tests/engine/test_faulty_disk.py tests/crash/test_small_disk.py tests/crash/test_fights.py

check: setup ## everything a change must pass: format, lint, types, layers, docs, test
	$(STAGE) format 1m $(BIN)/ruff format --check .
	$(STAGE) lint 1m $(BIN)/ruff check .
	$(STAGE) types 8m $(BIN)/mypy
	$(STAGE) layers 2m $(PYTEST) tests/test_architecture.py
	$(STAGE) docs 2m $(PY) tools/docs.py --check
	$(STAGE) test 10m $(PARALLEL) $(FAST) $(AGAIN)

coverage: setup ## every branch of the core and the language must be tested
	@PODIUM_HYPOTHESIS=coverage sh tools/stage.sh coverage 20m $(PARALLEL) $(FAST) --cov --cov-report=term \
		tests/test_fast_dataclass.py tests/core tests/tasks tests/workflow tests/simulate tests/contracts tests/attempt/test_contract.py tests/attempt/test_partials.py

mutants: setup ## plant bugs in the core and see that a property catches each; COUNT=30 SEED=7 for a sample, DRAWS=4 for luck
	@$(PY) tools/mutants.py --count $(COUNT) --seed $(SEED) --draws $(DRAWS)

money: setup ## every view of costs against the ledger in RUNS=2000 random runs that are killed; SEED=7 for others
	@PODIUM_RUNS=$(RUNS) PODIUM_SEED=$(SEED) $(PYTEST) -s tests/views/test_money.py

claims: setup ## parallel work on the same files: SCHEDULES=10000 simulated, REAL=50 through the command; SEED=7
	@PODIUM_RUNS=$(SCHEDULES) PODIUM_SEED=$(SEED) $(PYTEST) -s tests/core/test_claims_property.py
	@PODIUM_REAL_RUNS=$(REAL) PODIUM_SEED=$(SEED) $(PYTEST) -s tests/e2e/test_claims.py

routes: setup ## work of passed steps in SCHEDULES=10000 random workflows with routes; SEED=7 for others
	@PODIUM_RUNS=$(SCHEDULES) PODIUM_SEED=$(SEED) $(PYTEST) -s tests/core/test_kept_work.py tests/workflow/lint/test_lost_work_property.py

memory: setup ## MEMORIES=200 overlapping runs that share a memory, some killed, through the command; SEED=7
	@PODIUM_MEMORY_RUNS=$(MEMORIES) PODIUM_SEED=$(SEED) $(PYTEST) tests/git/test_memory.py -k lost
	@PODIUM_MEMORY_RUNS=$(MEMORIES) PODIUM_SEED=$(SEED) $(PYTEST) tests/e2e/test_memory.py -k overlap

triggers: setup ## EVENTS=1000 of files, webhooks and a clock, with kills and clock jumps, through the service; SEED=7
	@PODIUM_TRIGGER_EVENTS=$(EVENTS) PODIUM_SEED=$(SEED) $(PYTEST) -s tests/e2e/test_trigger_counts.py

history: setup ## random logs cut at random places, with killed readers: SPLITS=1000 logs; SEED=7 for others
	@PODIUM_SPLITS=$(SPLITS) PODIUM_SEED=$(SEED) $(PYTEST) -s tests/app/test_history_of_runs.py

thorough: setup ## every property on new random examples for SECONDS=300; prints its seeds
	@$(PY) tools/thorough.py --seconds $(SECONDS) $(if $(filter-out 1,$(SEED)),--seed $(SEED))

formats: setup ## misspell, remove and duplicate keys of FILES=5000 files of the other formats; SEED=7 for others
	@PODIUM_FILES=$(FILES) PODIUM_SEED=$(SEED) sh tools/stage.sh formats 30m $(PARALLEL) tests/workflow/dialects/test_misspelled_keys.py

fuzz: setup ## random files and expressions for SECONDS=300
	@$(PY) tools/fuzz.py --seconds $(SECONDS)

PHOENIX := arize-phoenix==20.26.1
phoenix: setup ## sends a run twice to a real Phoenix server, and counts what it stored; installs it in .venv-phoenix
	@[ -x .venv-phoenix/bin/phoenix ] || { $(PY) -m venv .venv-phoenix && .venv-phoenix/bin/python -m pip install --quiet $(PHOENIX); }
	@$(PY) tools/phoenix.py

regret: setup ## what each policy of agent: auto loses on 200 synthetic histories
	@$(PY) -m bench.choosing

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
	rm -rf .venv .venv-bench .venv-live .venv-js .venv-tox build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
