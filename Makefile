# Everything runs in a local virtual environment that each target sets up for itself.
# A stamp file a step keeps repeated calls quick; editing pyproject.toml redoes the installs.

# Candidates, first usable one wins; override with PYTHON=/path/to/python3.12.
PYTHON ?= python3 python3.14 python3.13 python3.12 python3.11 python
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
# Worker processes of the test run. More than the cores only adds start-up time.
JOBS ?= 2
FOLDERS := pgsr models solvers inequality sae
KERNELS := $(wildcard solvers/native/*.py pgsr/noise/*.py)

# The folders `inequality` and `models` at the root must never shadow a package of that name.
export PYTHONSAFEPATH := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two pip processes in one environment would trip over each other.
.NOTPARALLEL:
.PHONY: help demo test test-slow cover check bench compare docs wheel clean distclean tree

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.kernels ## run the main job on packaged real data, results in demo-out/
	rm -rf demo-out
	$(BIN)/pgsr demo --out demo-out

# Kernels are compiled before the workers start: otherwise each of them would compile its own.
test: $(VENV)/.test $(VENV)/.kernels ## run the quick tests
	$(BIN)/python -m pytest -n $(JOBS)

test-slow: $(VENV)/.test $(VENV)/.kernels ## run the tests marked slow
	$(BIN)/python -m pytest -m slow

cover: $(VENV)/.test $(VENV)/.kernels ## run the quick tests and show line coverage by module
	$(BIN)/python -m pytest -n $(JOBS) $(FOLDERS:%=--cov=%) --cov-report=term-missing:skip-covered

check: $(VENV)/.check tree ## lint, format, types, floors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	cd .typing && ../$(BIN)/lint-imports --no-logo --cache-dir .cache ../.importlinter

bench: $(VENV)/.kernels ## run the foundation benchmarks, results in build/bench/
	$(BIN)/python -m pgsr.bench.foundation --out build/bench \
	  --taxi tests/solvers/taxi_eps1_instance.npz

compare: $(VENV)/.test $(VENV)/.kernels ## compare all solvers, results in build/compare/ and docs/solvers.md
	$(BIN)/python -m pgsr.bench.comparison --out build/compare --docs docs/solvers.md

# Warnings are errors: a broken link or an unreadable docstring fails the build.
docs: $(VENV)/.docs tree ## build the documentation site in site/
	rm -rf docs/api
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --builder html \
	  --doctree-dir build/doctrees docs site
	@echo "site/index.html"

# The wheel is built from the sdist, never from the tree: a build in the tree leaves a build/lib
# whose deleted modules come back in the next wheel.
wheel: $(VENV)/.build tree ## build sdist and wheel into dist/ and check that no file is missing
	rm -rf dist build/lib
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python tools/check_wheel.py .typing dist/*.whl

clean: ## remove what the other targets wrote, except the virtual environment
	rm -rf build dist site demo-out docs/api .typing .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf .import_linter_cache .coverage *.egg-info
	find $(FOLDERS) tests tools docs -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove the virtual environment as well
	rm -rf $(VENV)

tree: $(VENV)/.runtime
	$(BIN)/python tools/link_tree.py

# The chosen interpreter must also be able to make an environment with pip in it
# (some systems split ensurepip off), else the failure would come later and less clearly.
$(BIN)/python:
	@for python in $(PYTHON); do \
	  if "$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "$$python -m venv $(VENV)"; exec "$$python" -m venv $(VENV); \
	  fi; \
	done; \
	echo "make: no usable Python >= 3.11 (with venv and ensurepip): tried $(PYTHON): set PYTHON=..." >&2; \
	exit 2

# pip reads dependency groups from 25.1 on.
$(VENV)/.runtime: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --upgrade 'pip>=25.1'
	$(PIP) install --quiet --editable .
	touch $@

# The compiler's cache looks at the file of a kernel, not at the files of those that it calls.
$(VENV)/.kernels: $(KERNELS) $(VENV)/.runtime
	find solvers pgsr -name '*.nb[ic]' -delete
	$(BIN)/pgsr warmup
	touch $@

$(VENV)/.test $(VENV)/.check $(VENV)/.docs $(VENV)/.build: $(VENV)/.%: $(VENV)/.runtime
	$(PIP) install --quiet --group $*
	touch $@
