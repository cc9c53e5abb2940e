# Every target sets up what it needs in a virtual environment of its own. Start with `make`.

PYTHON ?= python3
# How many processes run the tests; 0 runs them in one, which a debugger needs. One more than there
# are cores, as some wait for servers and processes of theirs.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# The demo needs the product's own packages and none for development.
DEMO_VENV := .venv-demo
DEMO_READY := $(DEMO_VENV)/.ready
BROWSER_VENV := .venv-browser
BROWSER_READY := $(BROWSER_VENV)/.ready
RAY_VENV := .venv-ray
RAY_READY := $(RAY_VENV)/.ready
AGENTDOJO_VENV := .venv-agentdojo
AGENTDOJO_READY := $(AGENTDOJO_VENV)/.ready
# A busy machine may take a minute to start what Ray needs; Ray's own patience is 20 to 60 seconds.
RAY_ENV := RAY_USAGE_STATS_ENABLED=0 RAY_gcs_server_port_wait_time_s=300 \
  RAY_gcs_server_request_timeout_seconds=300 RAY_worker_register_timeout_seconds=300
# Libraries that cannot share an environment, or that are too large for everybody's: each is named
# like the extra that brings it and has a file of pinned versions in requirements/frameworks/.
FRAMEWORKS := smolagents langgraph llamaindex camel openai-agents pydantic-ai litellm \
  transformers mlflow wandb verifiers acp a2a exchange
FRAMEWORK_VENVS := .venv-frameworks
# The module to import, where it is not called like the extra.
MODULE_llamaindex := llama_index
MODULE_openai-agents := agents
MODULE_pydantic-ai := pydantic_ai
MODULE_transformers := torch
MODULE_exchange := atif
# What checks our files in public formats needs a newer Python than we do.
EXCHANGE_PYTHON := 3.12
UV := .venv-uv/bin/uv
UV_VERSION := 0.13.8
INSTALL := UV=$(UV) scripts/install
# It comes from the makers of the theme that the pages had before, reads the same mkdocs.yml and is
# kept up; MkDocs 1 is not, and MkDocs 2 has no plugins, without which there are no API pages.
ZENSICAL := $(BIN)/zensical
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

QUICK = MASEVAL_EXAMPLES=quick $(PYTEST) -q -m "not slow and not contract and not network and not data" \
  $(addprefix --ignore=tests/,browser cli contract interface server)

RAY_TEST = $(RAY_ENV) MASEVAL_REQUIRE_LIBRARY=ray $(RAY_VENV)/bin/python -m pytest -q --timeout=900 \
  -m "needs(library='ray')"

.DEFAULT_GOAL := help
.PHONY: help demo test test-beside test-browser test-frameworks test-ray test-agentdojo test-pythons quick quick-elsewhere check coverage bench pictures docs \
  serve release

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(DEMO_READY) ## Run tau2 with an agent that makes mistakes, and write its report; no key needed
	@$(DEMO_VENV)/bin/maseval demo

test: $(READY) ## Run all tests
	@$(PYTEST)

test-beside: $(READY) ## Run the tests that need the contract and the data beside the checkout
	@MASEVAL_REQUIRE_CONTRACT=1 MASEVAL_REQUIRE_DATA=1 $(PYTEST) -m beside

test-browser: $(BROWSER_READY) ## Try the HTML report in a real Chromium
	@command -v $${MASEVAL_CHROMIUM:-chromium} >/dev/null || { \
	  echo "There is no Chromium here. On Debian and Ubuntu:  apt-get install chromium"; \
	  echo "Elsewhere name its program:  MASEVAL_CHROMIUM=/path/to/chrome make test-browser"; \
	  exit 1; } >&2
	@MASEVAL_BROWSER_TESTS=1 $(BROWSER_VENV)/bin/python -m pytest tests/browser

test-frameworks: ## Try every framework and tracker, each in an environment of its own
	@$(MAKE) --no-print-directory --output-sync=target --keep-going -j2 \
	  $(addprefix test-framework-,$(FRAMEWORKS))

# verifiers runs its tasksets by uv.
test-framework-%: $(FRAMEWORK_VENVS)/%/.ready
	@echo "$*:"
	@PATH="$(CURDIR)/$(dir $(UV)):$$PATH" MASEVAL_REQUIRE_LIBRARY=$(or $(MODULE_$*),$*) \
	  $(FRAMEWORK_VENVS)/$*/bin/python -m pytest -q \
	  tests/interface tests/test_examples.py -m "needs(library='$(or $(MODULE_$*),$*)')"

test-framework-exchange: $(READY)
	@found=$$($(BIN)/python -m scripts.pythons $(EXCHANGE_PYTHON) | cut -d ' ' -f 2); \
	if [ -n "$$found" ]; then $(MAKE) --no-print-directory PYTHON="$$found" test-with-exchange; \
	else echo "exchange: skipped, as this machine has no Python $(EXCHANGE_PYTHON)"; fi

.PHONY: test-framework-exchange test-with-exchange
test-with-exchange: $(FRAMEWORK_VENVS)/exchange/.ready
	@echo "exchange:"
	@MASEVAL_REQUIRE_LIBRARY=atif $(FRAMEWORK_VENVS)/exchange/bin/python -m pytest -q tests/exchange \
	  -m "needs(library='atif')"

# A process that has been connected to a Ray of its own is not accepted by a cluster, so these are two.
test-ray: $(RAY_READY) ## Try runs on Ray, with several nodes on this machine
	@$(RAY_TEST) tests/interface/ray --ignore-glob='*/test_on_*'
	@$(RAY_TEST) tests/interface/ray/test_on_*.py

test-agentdojo: $(AGENTDOJO_READY) ## Try the benchmark of plugins/agentdojo against its library
	@$(AGENTDOJO_VENV)/bin/python -m pytest -q -n $(WORKERS) -c plugins/agentdojo/pyproject.toml \
	  plugins/agentdojo/tests

test-pythons: $(READY) ## Run the quick tests with each newer Python that is here, or with VERSIONS
	@$(BIN)/python -m scripts.pythons $(VERSIONS) | while read -r version python; do \
	  echo "Python $$version ($$python):"; \
	  $(MAKE) --no-print-directory VENV=.venv-py$$version PYTHON="$$python" quick || exit 1; \
	done

quick: $(READY) ## Run the tests that need no data, no servers, no processes and no patience
	@$(QUICK)

# What only Linux has starts, watches and confines processes, of which statistics have none.
quick-elsewhere: $(READY) ## Run the quick tests without what only Linux has, as on macOS
	@$(QUICK) -p tests.elsewhere --ignore=tests/stats

check: $(READY) ## Check format, lint, types and documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(ZENSICAL) build --clean --strict

coverage: $(READY) ## Run all tests and list the lines that none of them runs
	@$(PYTEST) --cov --cov-report=term-missing:skip-covered --cov-report=html:build/coverage

release: $(READY) ## Build wheel and sdist, try both in fresh environments, and write the release notes
	@PYTHON=$(PYTHON) $(BIN)/python -m scripts.release

bench: $(READY) ## Measure speed, and compare it with goals and with earlier commits
	@$(BIN)/python -m benchmarks
	@if [ -e $(RAY_READY) ]; then $(RAY_ENV) $(RAY_VENV)/bin/python -m benchmarks.ray; \
	  else echo "Ray is not measured: make test-ray sets up its environment."; fi

pictures: $(BROWSER_READY) ## Take anew the pictures of the documentation, and those that pages are tested against
	@MASEVAL_BROWSER_TESTS=1 MASEVAL_RENEW_PICTURES=1 $(BROWSER_VENV)/bin/python -m pytest -q \
	  tests/browser/test_appearance.py -k looks_as_before
	@$(BROWSER_VENV)/bin/python -m scripts.screenshots

docs: $(READY) ## Build the documentation into site/
	@$(ZENSICAL) build --clean --strict

serve: $(READY) ## Show the documentation at http://127.0.0.1:8000 while you write it
	@$(ZENSICAL) serve

define CHECK_PYTHON
	@command -v $(PYTHON) >/dev/null || { \
	  echo "There is no $(PYTHON) here. maseval needs Python 3.11 or newer; name it like this:"; \
	  echo "  make PYTHON=/path/to/python3.12"; exit 1; } >&2
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "maseval needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) -V 2>&1)."; \
	  echo "Name another one like this:  make PYTHON=python3.12"; exit 1; } >&2
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) comes without venv and pip. On Debian and Ubuntu:  apt install python3-venv"; \
	  exit 1; } >&2
endef

$(DEMO_READY): pyproject.toml | $(UV)
	$(CHECK_PYTHON)
	@echo "Setting up $(DEMO_VENV), once: maseval and the few packages it needs ..." >&2
	@$(PYTHON) -m venv --without-pip $(DEMO_VENV)
	@# pip fetches the data from the package index; uv installs it sooner than venv does.
	@$(INSTALL) $(DEMO_VENV) -e ".[view]" pip >&2
	@touch $@

# It installs what all other environments hold. Half of the demo's setting up would go into a copy
# of pip that is used once; a Python that has pip needs no other.
$(UV):
	$(CHECK_PYTHON)
	@$(PYTHON) -m pip --disable-pip-version-check -qq install --no-compile --target .venv-uv \
	  uv==$(UV_VERSION) 2>/dev/null || { \
	  $(PYTHON) -m venv .venv-uv && \
	  .venv-uv/bin/python -m pip --disable-pip-version-check -qq install uv==$(UV_VERSION); }

# Python compiles what it imports; most of what an environment of a framework holds is never
# imported. In that of all tests, a warning of the compiler would be an error of a test.
$(READY): requirements/dev.txt pyproject.toml | $(UV)
	$(CHECK_PYTHON)
	@echo "Setting up $(VENV), once ..." >&2
	@$(PYTHON) -m venv $(VENV)
	@UV_COMPILE_BYTECODE=1 $(INSTALL) $(VENV) -r requirements/dev.txt
	@$(INSTALL) $(VENV) --no-deps -e .
	@touch $@

$(BROWSER_READY): requirements/browser.txt requirements/dev.txt pyproject.toml | $(UV)
	@echo "Setting up $(BROWSER_VENV), once ..." >&2
	@$(PYTHON) -m venv $(BROWSER_VENV)
	@$(INSTALL) $(BROWSER_VENV) -r requirements/browser.txt
	@$(INSTALL) $(BROWSER_VENV) --no-deps -e .
	@touch $@

$(RAY_READY): requirements/ray.txt pyproject.toml | $(UV)
	$(CHECK_PYTHON)
	@echo "Setting up $(RAY_VENV), once ..." >&2
	@$(PYTHON) -m venv $(RAY_VENV)
	@$(INSTALL) $(RAY_VENV) --no-deps -r $<
	@$(INSTALL) $(RAY_VENV) --no-deps -e .
	@touch $@

# The library brings the clients of four providers, of which the benchmark needs none.
$(AGENTDOJO_READY): plugins/agentdojo/requirements.txt plugins/agentdojo/pyproject.toml pyproject.toml | $(UV)
	@echo "Setting up $(AGENTDOJO_VENV), once ..." >&2
	@$(PYTHON) -m venv $(AGENTDOJO_VENV)
	@$(INSTALL) $(AGENTDOJO_VENV) --no-deps -r $<
	@$(INSTALL) $(AGENTDOJO_VENV) --no-deps -e . -e plugins/agentdojo
	@touch $@

.PRECIOUS: $(FRAMEWORK_VENVS)/%/.ready
# The pins are complete, so nothing has to be resolved; one package names what it can do without. Only
# torch needs other packages on other machines.
$(FRAMEWORK_VENVS)/%/.ready: requirements/frameworks/%.txt pyproject.toml | $(UV)
	@echo "Setting up $(@D), once ..." >&2
	@$(PYTHON) -m venv $(@D)
	@$(INSTALL) $(@D) $(if $(filter transformers,$*),,--no-deps) -r $<
	@$(INSTALL) $(@D) --no-deps -e .
	@touch $@
