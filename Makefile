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
# Versions and hashes that CI installs, on Linux with Python 3.11: make install LOCKED=1
LOCK   := supply/requirements.txt

.PHONY: demo install test bounds lint docs browser machines peers supply clean

$(BIN)/python$(EXE):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "multitudes needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(BIN)/python$(EXE)
	$(PIP) --editable .
	touch $@

ifdef LOCKED
$(VENV)/.dev: pyproject.toml $(LOCK) | $(BIN)/python$(EXE)
	$(PIP) --require-hashes --no-deps --only-binary :all: -r $(LOCK)
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $@ $(VENV)/.core
else
$(VENV)/.dev: pyproject.toml | $(BIN)/python$(EXE)
	$(PIP) $(TORCH)
	$(PIP) --editable '.[deep,serve,pdf,ray,parquet,skos,tune,dev]'
	touch $@ $(VENV)/.core
endif

install: $(VENV)/.dev

demo: $(VENV)/.core
	$(BIN)/multitudes demo

test: $(VENV)/.dev
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest $(PYTEST_ARGS)

# Kernels and what calls them, compiled with a check of every index. Numba's own cache would give
# out code without checks, so this run has a cache of its own.
BOUNDED := $(addprefix tests/,kernels labels linear disentangle groups features metrics scores \
	interchange property test_validation.py reliability/test_bounds.py reliability/test_door.py)
bounds: $(VENV)/.dev
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/bounds OMP_WAIT_POLICY=PASSIVE \
		$(BIN)/python -m pytest $(BOUNDED) $(PYTEST_ARGS)

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

# Debian's Chromium, for tests of the server's page and for its pictures in docs/figures.
browser:
	@command -v chromium chromium-browser || { \
		timeout 300 apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive timeout 300 apt-get install -y -qq --no-install-recommends \
			chromium fonts-noto-core > /dev/null; }

# Whether processors with fewer instructions give the same answers as this one.
machines: $(VENV)/.dev
	$(BIN)/python -m tests.golden.machines

# What the library is made of, after a change of its dependencies: lock, licenses.
supply: $(VENV)/.dev
	$(BIN)/python -m supply.lock
	$(BIN)/python -m supply.licenses

clean:
	rm -rf $(VENV) site build dist
