# Everything here works on a fresh machine with Python 3.11 and make. Nothing needs root.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
# The virtual environment's programs first: its npm and node, not the system's.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Where an image sets it, each of our processes would compile our sources again: half a second of its three.
unexport PYTHONDONTWRITEBYTECODE

RUN_READY := $(VENV)/.ready-run
DEV_READY := $(VENV)/.ready-dev
NODE_READY := node_modules/.ready
NODE_DEV_READY := node_modules/.ready-dev
# The server's packages hide those of the client, so they have an environment of their own.
SPARK_VENV := .spark
SPARK_VERSION := 4.2.1
# Two of the hosts need different MCP SDKs.
HOSTS := .hosts
HOSTS_READY := $(HOSTS)/.ready
HOSTS_FILES := requirements-hosts.txt requirements-hosts-langchain.txt $(wildcard tests/conformance/hosts/package*.json)
SCRIPTS := static/js mcp_app tests/js clients/node tests/clients vendor eslint.config.js

.DEFAULT_GOAL := help
.PHONY: help run test test-slow test-long test-spark hosts lint format audit secrets sbom image bench bench-memory bench-mixed soak sync-faults setups chaos screenshots pages texts chromium buildah pooler promtool helm clean clean-data

help: ## List what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(RUN_READY) $(NODE_READY) ## Install what is missing and run the console (PORT=8000)
	@exec $(BIN)/python manage.py up

test: $(DEV_READY) $(NODE_DEV_READY) chromium helm ## Run the tests but the slow and the long ones (T=path for some of Python's, with theirs)
	@$(if $(T),,$(BIN)/node --test --test-reporter=dot "tests/js/*.test.js")
	@$(BIN)/python -m pytest -n 2 --dist loadgroup $(or $(T),-m "not slow and not browser and not long and not spark")

test-slow: $(DEV_READY) $(NODE_DEV_READY) $(HOSTS_READY) chromium buildah ## Run the slow tests: pages in a browser, processes that are killed, backups, the whole demo; CI runs them too
	@$(BIN)/python -m pytest -n 2 --dist loadgroup -m "(slow or browser) and not long"

test-long: $(DEV_READY) $(NODE_DEV_READY) chromium ## Run the long tests: more widths and themes, kills at random
	@$(BIN)/python -m pytest -n 2 --dist loadgroup -m long

test-spark: $(DEV_READY) ## Run the tests of both engines on Apache Spark: a master, two workers, a Connect server (Java 17; 10 minutes)
	@test -x $(SPARK_VENV)/bin/pip || $(PYTHON) -m venv $(SPARK_VENV)
	@$(SPARK_VENV)/bin/pip install -qq "pyspark==$(SPARK_VERSION)"
	@SPARK_HOME=$$($(SPARK_VENV)/bin/python -c "import pyspark; print(pyspark.__path__[0])") $(BIN)/python -m tests.spark_cluster \
	  $(BIN)/python -m pytest tests/finops/lake/engine/test_spark.py \
	    tests/finops/lake/engine/test_spark_conversion.py tests/finops/lake/engine/test_both_engines.py \
	    tests/finops/data_exports/test_readers.py tests/finops/lake/test_lake_files.py \
	    tests/finops/lake/engine/test_spark_killed_worker.py

hosts: $(HOSTS_READY) ## Install what converts MCP tools for assistants (FastMCP, LangChain, AI SDK, google-genai), for its slow tests

lint: $(DEV_READY) $(NODE_DEV_READY) promtool secrets audit ## Check style, types, templates, scripts, import rules, migrations, alert rules, secrets, vulnerabilities
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	cd cli && $(abspath $(BIN))/lint-imports --no-logo
	@$(BIN)/python -m ops.check_deployment
	$(BIN)/djlint templates --lint --quiet
	$(BIN)/djlint templates --check
	$(BIN)/node node_modules/.bin/eslint $(SCRIPTS)
	$(BIN)/node node_modules/.bin/prettier --check --log-level=warn $(SCRIPTS)
	@# No database runs while linting, and none is needed to compare models with migrations.
	DATABASE_POOL=0 $(BIN)/python -W "ignore:Got an error checking:RuntimeWarning" manage.py makemigrations --check --dry-run

format: $(DEV_READY) $(NODE_DEV_READY) ## Put sources, templates and scripts into their format
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .
	$(BIN)/djlint templates --reformat --quiet || true
	$(BIN)/node node_modules/.bin/prettier --write --log-level=warn $(SCRIPTS)

audit: $(DEV_READY) $(NODE_DEV_READY) ## Look up known vulnerabilities of all packages; names what no service answered for
	@$(BIN)/python -m ops.audit

# .secrets.baseline leaves out the detectors of entropy and of words like "password": nearly all that they find are names.
secrets: $(DEV_READY) ## Look for secrets in every file of the repository
	@git ls-files -z | xargs -0 $(BIN)/detect-secrets-hook --no-verify --baseline .secrets.baseline

sbom: $(DEV_READY) $(NODE_READY) ## Write bills of materials (CycloneDX) to var/sbom; fails for a license that is not allowed
	@$(BIN)/python -m ops.sbom var/sbom

bench-memory: $(DEV_READY) ## Measure what imports of 10 million lines hold in memory (20 minutes, 4 GB of disk)
	$(BIN)/python -m benchmarks month_memory

bench-mixed: $(DEV_READY) $(NODE_READY) ## Measure an hour of 50 accounts at work: pages, questions, pushes, imports, syncs (MINUTES=60)
	BENCH_MIXED_MINUTES=$(or $(MINUTES),60) $(BIN)/python -m benchmarks mixed

bench: $(DEV_READY) ## Measure: lake queries, import, MCP over HTTP (minutes; B=name for one)
	$(BIN)/python -m benchmarks $(B)

soak: $(DEV_READY) ## A million generated inputs to all URLs, as many to MCP, files to the importers (two hours; SOAK_INPUTS=1000000)
	SOAK=1 $(BIN)/python -m pytest -n 2 -m "soak or hypothesis" tests

chaos: $(DEV_READY) $(NODE_READY) ## Kill, hang and fill everything beside ten tenants (MINUTES=30 REPORT=file)
	$(BIN)/python -m tests.chaos --minutes $(or $(MINUTES),30) $(if $(REPORT),--report $(REPORT))

sync-faults: $(DEV_READY) ## Kill worker, broker and database during syncs, 200 times (40 minutes; N=200)
	$(BIN)/python -m tests.chaos.syncs --rounds $(or $(N),200) --report var/sync-faults.md

setups: $(DEV_READY) $(NODE_READY) pooler ## Start each documented setup from nothing: embedded, Redis, S3, pooler (minutes)
	SETUPS=1 $(BIN)/python -m pytest tests/finops/test_setups.py

screenshots: $(DEV_READY) $(NODE_READY) chromium ## Take the README's screenshots from the demo account
	$(BIN)/python -m tests.browser.screenshots

pages: $(DEV_READY) $(NODE_DEV_READY) chromium ## Check every page of the demo in five widths and two themes, keep var/screenshots (20 minutes)
	$(BIN)/python -m pytest tests/browser/demo_pages.py

texts: $(DEV_READY) ## Print the visible texts that this branch adds and removes (C=commit to compare with)
	@$(BIN)/python -m tests.visible_texts $(C)

image: $(RUN_READY) ## Build the container image with buildah (minutes; TAG=name BASE=image)
	@$(BIN)/python -m ops.image $(if $(TAG),--tag $(TAG)) $(if $(BASE),--base $(BASE))

clean: ## Remove what make built; data in var/ stays
	rm -rf $(VENV) $(SPARK_VENV) $(HOSTS) node_modules var/static .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

clean-data: ## Remove var/: the embedded database, the lake, the demo data
	@if [ -x $(BIN)/python ]; then $(BIN)/python -m finops.embedded remove var; fi
	rm -rf var

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed: https://www.python.org/downloads/"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or later is needed; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version) …"
	@$(PYTHON) -m venv $(VENV)

$(RUN_READY): requirements.txt requirements-embedded.txt | $(BIN)/python
	@echo "Installing requirements.txt and requirements-embedded.txt (once, about a minute) …"
	@$(BIN)/python -m pip install -qq -r requirements.txt -r requirements-embedded.txt
	@touch $@

$(DEV_READY): $(filter-out $(HOSTS_FILES),$(wildcard requirements*.txt)) | $(BIN)/python
	@echo "Installing requirements-dev.txt (once, about a minute) …"
	@$(BIN)/python -m pip install -qq -r requirements-dev.txt
	@touch $(RUN_READY) $@

$(NODE_READY): package.json package-lock.json .npmrc vendor/echarts.js vendor/tabler.js vendor/mcp-app.js $(wildcard mcp_app/*) | $(RUN_READY)
	@echo "Installing front-end packages (once, seconds) …"
	@$(BIN)/npm ci --omit=dev --loglevel=error
	@$(BIN)/npm run build --silent
	@touch $@

# npm ci starts from an empty folder, so this is the front-end's packages again, and beside them the linter and the MCP
# clients of the tests.
$(NODE_DEV_READY): package.json package-lock.json .npmrc vendor/echarts.js vendor/tabler.js vendor/mcp-app.js $(wildcard mcp_app/*) | $(RUN_READY)
	@echo "Installing front-end packages, their linter and the MCP clients of the tests (once, half a minute) …"
	@$(BIN)/npm ci --loglevel=error
	@$(BIN)/npm run build --silent
	@touch $(NODE_READY) $@

$(HOSTS_READY): $(HOSTS_FILES) .npmrc | $(RUN_READY)
	@echo "Installing the hosts' converters of MCP tools (once, about a minute) …"
	@mkdir -p $(HOSTS) && cp tests/conformance/hosts/package*.json .npmrc $(HOSTS)
	@$(BIN)/python -m venv $(HOSTS)/python && $(HOSTS)/python/bin/pip install -qq -r requirements-hosts.txt
	@$(BIN)/python -m venv $(HOSTS)/langchain && $(HOSTS)/langchain/bin/pip install -qq -r requirements-hosts-langchain.txt
	@cd $(HOSTS) && npm ci --loglevel=error
	@touch $@

# Browser tests say themselves why they cannot run where chromium is missing and cannot be installed.
chromium:
	@if ! command -v chromium-headless-shell >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing Debian's headless chromium for the browser tests (once, about a minute) …"; \
	  { apt-get update -qq && { apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null \
	    || apt-get install -y -qq --no-install-recommends chromium >/dev/null; }; } \
	    || echo "apt-get could not install chromium."; \
	fi

# Prometheus's own check of the alert rules, unpacked from Debian's package; the tests hold them against the metrics besides.
PROMTOOL := var/tools/usr/bin/promtool
promtool:
	@if ! test -x $(PROMTOOL) && command -v apt-get >/dev/null && command -v dpkg >/dev/null; then \
	  mkdir -p var/tools && cd var/tools && { apt-get download -qq prometheus 2>/dev/null && dpkg -x prometheus_*.deb . \
	    && rm -f prometheus_*.deb usr/bin/prometheus; } || echo "apt-get could not fetch promtool."; \
	fi
	@if test -x $(PROMTOOL); then \
	  $(PROMTOOL) check rules ops/alerts.yml && $(PROMTOOL) test rules ops/alerts.test.yml; \
	fi

# The chart's tests lint and render with it; they say so where it is missing.
helm: | $(BIN)/python
	@$(BIN)/python -m ops.helm_program

# Without it the tests run the steps of the Dockerfile in folders.
buildah:
	@if ! { command -v buildah && command -v mmdebstrap; } >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing Debian's buildah and mmdebstrap for the tests of the image (once, half a minute) …"; \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends buildah mmdebstrap >/dev/null; } \
	    || echo "apt-get could not install buildah."; \
	fi

# Without it the test of several machines speaks to PostgreSQL itself.
pooler:
	@if ! test -x /usr/sbin/pgbouncer && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends pgbouncer >/dev/null; } \
	    || echo "apt-get could not install pgbouncer."; \
	fi
