# Two commands set everything up:  make demo  (core only)  and  make test  (everything).
PYTHON ?= python3
VENV   := .venv
ifeq ($(OS),Windows_NT)
BIN    := $(VENV)/Scripts
EXE    := .exe
else
BIN    := $(VENV)/bin
endif
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Unpinned, torch brings gigabytes of CUDA libraries; tests run on the CPU.
TORCH  ?= torch==2.13.0
PEERS  ?= pecos omikuji napkinxc

.PHONY: demo test lint docs peers clean

$(BIN)/python$(EXE):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "multitudes needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(BIN)/python$(EXE)
	$(PIP) --editable .
	touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python$(EXE)
	$(PIP) $(TORCH)
	$(PIP) --editable '.[deep,serve,ray,parquet,skos,dev]'
	touch $@ $(VENV)/.core

demo: $(VENV)/.core
	$(BIN)/multitudes demo

test: $(VENV)/.dev
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.dev
	$(BIN)/mkdocs build --strict

# Other libraries, each in an environment of its own under .peers: tests and benchmarks compare.
peers: $(VENV)/.dev
	$(BIN)/python -m benchmarks.peers $(PEERS)

clean:
	rm -rf $(VENV) site build dist
