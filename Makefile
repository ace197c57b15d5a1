# Every target sets up what it needs in .venv; nothing else has to be installed but Python 3.11 or newer, with venv.
PYTHON ?= python3
WORKERS ?= 2

bin := .venv/bin
help = 'make demo         train an agent for two minutes and see how it does' \
       'make test         the test suite' \
       'make lint         style and types' \
       'make test-bounds  the test suite with array bounds checked in compiled code (slow: compiles anew)' \
       'make speed        decisions per second, beside other libraries' \
       'make clean        remove .venv and all that was built'

.PHONY: help demo test lint test-bounds speed clean

help:
	@printf '%s\n' $(help)

demo: .venv/train.stamp
	$(bin)/python -m train.demo

test: .venv/dev.stamp
	$(bin)/card-envs warm --jobs $(WORKERS)
	$(bin)/python -m pytest -n $(WORKERS)

lint: .venv/dev.stamp
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/mypy

# numba ignores NUMBA_BOUNDSCHECK for what it finds in its cache
test-bounds: .venv/dev.stamp
	cache=$$(mktemp -d) && trap 'rm -rf "$$cache"' EXIT && export NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR="$$cache" && \
	$(bin)/card-envs warm --jobs $(WORKERS) && $(bin)/python -m pytest -n $(WORKERS)

speed: .venv/peers.stamp
	$(bin)/card-envs speed --start

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "card-envs needs Python 3.11 or newer: make PYTHON=/path/to/it …")'
	$(PYTHON) -m venv .venv

# an extra is installed once, and again when what it names may have changed
.venv/%.stamp: pyproject.toml | .venv/bin/python
	$(bin)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@
