# Every target sets up .venv by itself when it is missing or out of date.
PYTHON ?= python3
BIN := .venv/bin
# One process per core with one thread each; tests that lie together stay in one process.
# Compiled files are kept: they save each process and each worker seconds.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-slow lint bench chaos clean

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) torch setuptools
	$(PIP) --no-build-isolation -e '.[datasets,dev,hub,mlflow,mqtt,onnx,pretrained,ray,search,serve,tensorboard,video,wandb]'
	touch $@

demo: .venv/ready
	rm -rf runs/demo
	$(BIN)/scale run --dataset digits --stream seq --out runs/demo
	$(BIN)/scale report runs/demo

test: .venv/ready
	$(PYTEST)

test-slow: .venv/ready
	$(PYTEST) -m slow

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready
	$(BIN)/python -m benchmarks --json results/bench.jsonl --page BENCHMARKS.md --resume build/bench

chaos: .venv/ready
	$(BIN)/python -m chaos

clean:
	rm -rf .venv build dist src/*.egg-info
