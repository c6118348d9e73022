# Everything runs in a virtual environment of its own, made here on first use. `make help` lists the targets.
# Needed: make, git and a Python >= 3.11 (chosen below, or by `make PYTHON=/path/to/python3.12 …`).
# On Windows, or without make: see "Without make" in CONTRIBUTING.md.

VENV ?= .venv
PYTHON ?=
# How many times as many cases `make soak` tries as `make test` does.
SOAK ?= 1000
# More arguments for `treeplex validate`, pytest or sphinx, e.g. `make validate ARGS="--suite full"`.
ARGS ?=

# -P: the checkout itself is never on the import path, so that what is tested is what is installed.
PY := $(VENV)/bin/python -P
PIP := $(PY) -m pip --disable-pip-version-check
# A file runs in one worker: its fixtures are made once. Files begin in the order that tests/conftest.py gives them: by
# default those of few tests come last, and among them are the longest.
PYTEST := $(PY) -m pytest -n auto --dist loadfile --no-loadscope-reorder
STAMPS := $(VENV)/.treeplex
# Bytecode is kept, even where the environment says otherwise: pytest would rewrite every file of tests in every worker.
export PYTHONDONTWRITEBYTECODE :=

# Directories count too: a deleted module must lead to a new install.
SOURCES := pyproject.toml __init__.py __init__.pyi __main__.py py.typed $(shell find seqform models solvers validation cli \
	\( -type d -name __pycache__ -prune \) -o \( -type d -o -name '*.py' -o -name '*.pyi' \) -print)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Installs share one environment, and checks one terminal: nothing here may run at once, whatever `make -j` says.
.NOTPARALLEL:
.PHONY: help validate test test-slow soak checks lint types docs bench format wheel develop clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## */\1	/p' Makefile | expand -t 12

validate: $(STAMPS)/core $(STAMPS)/package  ## exact against iterative on the quick suite: the library's main check
	$(VENV)/bin/treeplex validate $(ARGS)

test: checks  ## lint, types, and the tests that are not marked slow
	$(PYTEST) -m "not slow" $(ARGS)

test-slow: checks  ## the same with the slow tests
	$(PYTEST) $(ARGS)

soak: export TREEPLEX_SOAK := $(SOAK)
soak: $(STAMPS)/test $(STAMPS)/package  ## the randomised tests at length, for hours; seeds and times are printed at the end
	$(PYTEST) -m soak --timeout 0 -rP $(ARGS)

# Both at once: mypy uses one core most of the time.
checks: $(STAMPS)/test $(STAMPS)/package
	@$(MAKE) --no-print-directory lint & linted=$$!; $(MAKE) --no-print-directory types; typed=$$?; wait $$linted && exit $$typed

lint: $(STAMPS)/test
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) benchmarks/structure.py --check & checked=$$!; $(PY) benchmarks/prose.py && wait $$checked

types: $(STAMPS)/test $(STAMPS)/package
	$(PY) -m mypy --num-workers 2 --strict --cache-dir $(STAMPS)/mypy -p treeplex

docs: $(STAMPS)/docs $(STAMPS)/package  ## the documentation, in docs/_build/html; a warning is an error
	@rm -rf docs/reference/generated
	$(PY) -m sphinx -W --keep-going -j auto -b html docs docs/_build/html $(ARGS)

bench: $(STAMPS)/benchmarks $(STAMPS)/package  ## time the library, and the other implementations
	$(PY) -m pytest benchmarks $(ARGS)

format: $(STAMPS)/test  ## put the sources in order
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

# From what is committed, with its time and the same permissions; the tools that build are those of the environment.
wheel: $(STAMPS)/build  ## a wheel in dist, byte for byte the same wherever this commit is built with the same setuptools
	@rm -rf build/source
	@mkdir -p build/source
	umask 022; git archive HEAD | tar -x -C build/source; \
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist ./build/source
	@rm -rf build

# Undone by the next `make test`, which checks the package as users get it.
develop: $(STAMPS)/test  ## install the checkout itself, so that edits count at once
	@rm -f $(STAMPS)/package
	$(PIP) install --quiet --no-build-isolation --no-deps --editable .

clean:  ## remove everything built, but not the environment
	rm -rf build dist treeplex.egg-info docs/_build docs/reference/generated
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks $(STAMPS)

# The environment. One that exists is used as it is; nothing is ever removed from it.
$(STAMPS)/venv:
	@set -eu; \
	if [ ! -x $(VENV)/bin/python ]; then \
	    found=; \
	    for python in $(if $(PYTHON),"$(PYTHON)",python3 python3.13 python3.12 python3.11 python3.14 python); do \
	        if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	    done; \
	    if [ -z "$$found" ]; then \
	        echo "treeplex needs Python 3.11 or newer; $(if $(PYTHON),$(PYTHON) is older or missing,python3 is older or missing): give one with make PYTHON=/path/to/python3.11" >&2; \
	        exit 1; \
	    fi; \
	    if ! "$$found" -c 'import ensurepip, venv' 2>/dev/null; then \
	        echo "$$found has no venv or no ensurepip module: install them (Debian, Ubuntu: apt install python3-venv), or give another interpreter with make PYTHON=…" >&2; \
	        exit 1; \
	    fi; \
	    echo "making $(VENV) with $$found"; \
	    "$$found" -m venv $(VENV); \
	fi
	@$(VENV)/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "the Python of $(VENV) is older than 3.11: remove $(VENV), and make again" >&2; exit 1; }
	@mkdir -p $(STAMPS)
	@touch $@

# What builds the package stays in the environment: pip would fetch it again for every install.
$(STAMPS)/build: pyproject.toml $(STAMPS)/venv
	@$(PY) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' > $@.txt
	@$(PIP) install --quiet --requirement $@.txt
	@touch $@

# What each target needs: with pyproject.toml, the dependencies may have changed. The package comes along.
# "build" goes first, because setuptools ships modules that it finds there though their source is gone.
define install
@echo "installing treeplex$(1) in $(VENV)"
@rm -rf build treeplex.egg-info
@$(PIP) install --quiet --no-build-isolation $(2) ".$(1)"
@rm -rf build treeplex.egg-info
@touch $(STAMPS)/package $@
endef

$(STAMPS)/core: pyproject.toml $(STAMPS)/build
	$(call install,)

comma := ,
$(STAMPS)/test: pyproject.toml $(STAMPS)/build
	$(call install,[test$(comma)dev])

$(STAMPS)/docs: pyproject.toml $(STAMPS)/build
	$(call install,[docs])

$(STAMPS)/benchmarks: pyproject.toml $(STAMPS)/build
	$(call install,[test$(comma)benchmarks])

$(STAMPS)/package: $(SOURCES) $(STAMPS)/build
	$(call install,,--no-deps)
