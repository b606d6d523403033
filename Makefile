# make test | lint | format | demo | docs | bench | providers | clean
#
# Each target sets up what it needs in .venv. Set PYTHON to choose the interpreter
# that a new .venv is made from; `make distclean` removes the old one.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:

PYTHON ?=
# One process more than most machines that run this have cores: servers and browsers are waited for.
PYTEST_FLAGS ?= -n 3 --dist loadfile

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
WHEEL_VENV := build/wheel-venv
WHEEL_PY := $(WHEEL_VENV)/bin/python

# The stamps carry a checksum of what the environment depends on: the project's
# metadata and where the tree lies.
KEY := $(shell { cat pyproject.toml pmb_hf/_version.py; pwd; } | cksum | cut -d' ' -f1)
DEV := $(VENV)/.pmb-dev-$(KEY)
BENCH := $(VENV)/.pmb-bench-$(KEY)

.PHONY: help
help:
	@sed -n '1,4s/^# *//p' Makefile

$(DEV):
	@set -eu; \
	fits() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }; \
	if ! { fits $(PY) && $(PY) -m pip --version >/dev/null 2>&1; }; then \
	  found=; \
	  for candidate in $(or $(PYTHON),python3.13 python3.12 python3.11 python3 python); do \
	    if fits "$$candidate"; then found=$$candidate; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "error: no Python >= 3.11 among: $(or $(PYTHON),python3.13 python3.12 python3.11 python3 python)." >&2; \
	    echo "Install one, or name it: make PYTHON=/path/to/python3 ..." >&2; exit 1; \
	  fi; \
	  echo "making $(VENV) with $$("$$found" --version)"; \
	  "$$found" -m venv --clear $(VENV) || { \
	    echo "error: $$found can't make a virtual environment; install its venv package (on Debian: python3-venv)." >&2; exit 1; }; \
	fi; \
	echo "installing the project and its tools into $(VENV)"; \
	$(PIP) install --editable '.[dev]'; \
	rm -f $(VENV)/.pmb-*; \
	touch $@

$(BENCH): $(DEV)
	@$(PIP) install --editable '.[dev,bench]'
	@touch $@

.PHONY: test
test: lint pytest wheel

.PHONY: lint
lint: $(DEV)
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy

.PHONY: format
format: $(DEV)
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

.PHONY: pytest
pytest: $(DEV) browser
	$(PY) -m pytest $(PYTEST_FLAGS)

# The report page is tested in a real browser. Where there is none and it can't be
# installed, those tests are skipped and say why.
.PHONY: browser
browser:
	@command -v chromium chromium-browser google-chrome google-chrome-stable >/dev/null 2>&1 \
	|| [ -n "$$PMB_CHROMIUM" ] || { \
	  echo "installing Chromium for the tests of the report page"; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core; } \
	    >/dev/null 2>&1 || echo "could not install Chromium; set PMB_CHROMIUM to one" >&2; }

# What users get: the sdist, the wheel built from it, installed elsewhere and used from
# outside the tree. The dependencies are those of .venv; the package is the wheel's.
.PHONY: wheel
wheel: $(DEV)
	@rm -rf dist $(WHEEL_VENV)
	$(PY) -m build --no-isolation --outdir dist . >/dev/null
	@$(PY) -m venv --without-pip $(WHEEL_VENV)
	@$(PIP) --python $(WHEEL_PY) install --no-deps --no-index dist/*.whl
	@$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  > "$$($(WHEEL_PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/dependencies.pth"
	$(WHEEL_PY) -I tests/wheel_smoke.py

.PHONY: demo
demo: $(DEV)
	$(VENV)/bin/pmb run --provider bm25 --out reports

.PHONY: bench
bench: $(BENCH)
	$(PY) benchmarks/run.py

# Real memory systems in environments of their own, on both corpora; heavy. The table of
# docs/providers.md is made from their reports.
.PHONY: providers
providers: export PMB_ENVIRONMENTS := $(or $(PMB_ENVIRONMENTS),$(CURDIR)/build/environments)
providers: $(DEV)
	$(PY) benchmarks/providers.py run
	PMB_TEST_ENVIRONMENTS="$$PMB_ENVIRONMENTS" $(PY) -m pytest -m vendor
	$(PY) benchmarks/providers.py table

# The command line's reference page, made from its help.
.PHONY: docs
docs: $(DEV)
	$(PY) -m pmb_hf.cli.reference > docs/cli.md.part
	mv docs/cli.md.part docs/cli.md

.PHONY: clean
clean:
	rm -rf build dist out reports .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -exec rm -rf {} +

.PHONY: distclean
distclean: clean
	rm -rf $(VENV)
