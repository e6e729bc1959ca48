# `make serve` and `make test` are all a newcomer needs. Everything lives in .venv.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
READY := $(VENV)/.ready
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check
# Tests start the program hundreds of times: it is compiled once, whatever the shell says.
export PYTHONDONTWRITEBYTECODE =
SECONDS ?= 60
# Two processes for each core: many tests wait for a program that they have started. With three on two
# cores, 8 % of the processor time is left unused. The folders with the slowest files come first, so
# they are not reordered.
PARALLEL := $(BIN)/pytest --numprocesses=$$((2 * $$(nproc 2>/dev/null || echo 2))) --dist=loadfile --no-loadscope-reorder
# Programs of other people, which only `make test-clients` needs.
CLIENTS := .clients/.ready
DEPLOY := $(VENV)/.deploy

.PHONY: serve test test-slow coverage torture test-postgres test-clients test-deploy release check lint types layers format bench bench-quick bench-scan bench-evasion fuzz screenshots required-words lock clean

serve: $(RUNTIME)  ## the platform with a few demo skills on http://127.0.0.1:8000
	$(BIN)/vskill-platform serve --submit-all demo

test: $(READY)  ## the tests that every change must pass
	$(PARALLEL) $(ARGS)

test-slow: $(READY)  ## the tests that take longest: the real program, a real browser, huge inputs; CI runs them, too
	$(PARALLEL) -m "slow and not torture and not clients and not deploy" $(ARGS)

coverage: $(READY)  ## the same tests, and which lines and branches they reach: takes half as long again
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder $(ARGS)
	@$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

torture: $(READY)  ## slow tests: kills at many moments, large cases, many examples
	$(BIN)/pytest --numprocesses=auto --dist=worksteal --timeout=0 --hypothesis-profile=torture -m "torture or hypothesis"

# The folders of tests that keep records; the others have no database, or one of their own.
ON_POSTGRES := pipeline browser contracts $(addprefix unit/,access cron events intake publish queue runtime stores web)

test-postgres: $(READY)  ## all tests that keep records on PostgreSQL; `make test` runs a few of them there
	$(BIN)/pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder --engine=postgres -m "not torture and not clients and not deploy" $(addprefix tests/,$(ON_POSTGRES)) $(ARGS)

test-clients: $(READY) $(CLIENTS)  ## third-party clients, unmodified, against a registry on loopback
	$(BIN)/pytest --timeout=300 -m clients tests/clients $(ARGS)

test-deploy: $(DEPLOY)  ## the wheel outside of the repo, the Dockerfile, compose files, units, the chart and the proxies
	$(BIN)/pytest --timeout=600 -m deploy tests/deploy $(ARGS)

release: $(DEPLOY)  ## VERSION=1.2.3: changelog, wheel, sdist, SBOM and checksums in dist/, a commit and a tag
	$(BIN)/python deploy/release.py $(VERSION)

check: lint types layers test  ## what CI runs

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python docs/modules.py

bench: $(READY)  ## every figure that we claim, compared with other tools
	$(INSTALL) --no-deps --require-hashes -r requirements/bench.lock
	set -e; for file in benchmarks/bench_*.py; do $(BIN)/python $$file; done

bench-quick: $(READY)  ## every figure that we claim in one table, in about five minutes
	$(INSTALL) --no-deps --require-hashes -r requirements/bench.lock
	$(BIN)/python benchmarks/quick.py $(ARGS)

bench-scan: $(READY)  ## what the scanner flags and passes, and its speed, compared with Cisco's
	$(BIN)/python benchmarks/scan_quality.py $(ARGS)

bench-evasion: $(READY)  ## how many disguised attacks the scanner flags, and how many harmless variants it passes
	$(BIN)/python benchmarks/scan_evasion.py $(ARGS)

fuzz: $(READY)  ## hostile input for each part of the scanner, SECONDS each; reports what was found
	$(INSTALL) --no-deps --require-hashes -r requirements/fuzz.lock
	$(BIN)/pytest -q --timeout=0 --hypothesis-profile=fuzz tests/unit/scan/test_fuzz_targets.py
	$(BIN)/python fuzz/run.py --seconds $(SECONDS) $(ARGS)

screenshots: $(READY)  ## the images in docs/images/; needs the system's Chromium
	$(BIN)/python docs/screenshots.py

required-words: $(READY)  ## derive the words that the patterns of prose need, after a change of them
	$(BIN)/python -c "from vskill_platform.scan.facts import required_words; \
	    from vskill_platform.scan.prose.prose_patterns import prose_patterns; \
	    required_words.write_words(prose_patterns())"

lock: $(READY)  ## resolve the dependencies again; lock files carry hashes and name no host
	$(INSTALL) uv
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python requirements/lock.py

clean:
	rm -rf $(VENV) .clients .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis .fuzz

$(RUNTIME): requirements/runtime.lock requirements/build.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "vskill-platform needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	@echo "Creating $(VENV) and installing the packages of requirements/runtime.lock (once, about half a minute) …"
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) --no-deps --require-hashes -r requirements/runtime.lock -r requirements/build.lock
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(READY): $(RUNTIME) requirements/dev.lock
	@echo "Installing the tools for tests of requirements/dev.lock (once) …"
	@$(INSTALL) --no-deps --require-hashes -r requirements/dev.lock
	@touch $@

$(DEPLOY): $(READY) requirements/deploy.lock
	@echo "Installing the tools of requirements/deploy.lock (once) …"
	@$(INSTALL) --no-deps --require-hashes -r requirements/deploy.lock
	@touch $@

# Not `npm ci`: it refuses a lock file without the optional packages of other systems, which are not
# installed. `npm install` takes the versions and digests of the lock file, too.
# Without npm the tests of its clients are skipped by name, or fail on CI.
$(CLIENTS): tests/clients/package.json tests/clients/package-lock.json requirements/clients.lock
	@echo "Installing the clients of tests/clients/package-lock.json and requirements/clients.lock (once, about 3 minutes) …"
	@mkdir -p .clients
	@$(PYTHON) -m venv .clients/venv
	@.clients/venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/clients.lock
	@cp tests/clients/package.json tests/clients/package-lock.json .clients
	@if command -v npm >/dev/null; then cd .clients && npm install --no-save --no-audit --no-fund --ignore-scripts --omit=optional --loglevel=error; fi
	@touch $@
