# Every target sets up .venv by itself when it is missing or out of date.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench clean

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch setuptools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dev,hub]'
	touch $@

demo: .venv/ready
	$(BIN)/scale demo

test: .venv/ready
	$(BIN)/python -m pytest

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist *.egg-info
