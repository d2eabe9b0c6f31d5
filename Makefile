# Everything a contributor runs. `make test` and `make demo` need nothing but Python 3.11 or later.
PYTHON ?= python3
BIN := .venv/bin
BASE := .venv/base
READY := .venv/ready
DOCS := .venv/docs
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
BENCHMARK := PYTHONPATH=. OMP_NUM_THREADS=1 $(BIN)/python

.PHONY: setup demo test test-slow test-peers lint docs bench bench-full clean

setup: $(READY)

# What the demo needs: the package without simulators, Ray and ONNX. The others install on top.
$(BASE): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) -e .
	touch $(BASE)

$(READY): $(BASE)
	$(INSTALL) -e ".[dev]"
	touch $(READY)

$(DOCS): $(BASE)
	$(INSTALL) -e ".[docs]"
	touch $(DOCS)

demo: $(BASE)
	$(BIN)/ambidex demo

test: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -m "not slow and not sb3_versions" -q -rs

test-slow: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -m "slow or sb3_versions" -q -rs

# Inside the real rsl_rl, cusrl and jax, and over the robots of example-robot-data, which needs no dependencies here.
test-peers: $(READY)
	$(INSTALL) -e ".[peers]"
	$(INSTALL) --no-deps "example-robot-data>=6.0"
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -rs tests/symmetry tests/learn/networks -k "rsl_rl or cusrl or jax"
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -rs -m slow tests/derivation

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "build/site/index.html"

# The figures that the README quotes, in about ten minutes.
bench: $(READY)
	$(BENCHMARK) benchmarks/update.py
	$(BENCHMARK) benchmarks/rollout.py
	$(BENCHMARK) benchmarks/envs.py
	$(BENCHMARK) benchmarks/fit.py
	$(BENCHMARK) benchmarks/identify.py --runs results/A3.1/asl/seed-1 results/A3.1-transition/asl/seed-1

# Every benchmark; modules that they share have no main.
bench-full: $(READY)
	for benchmark in $$(grep -l "__main__" benchmarks/*.py); do \
		echo "== $$benchmark"; $(BENCHMARK) $$benchmark || exit 1; done

clean:
	rm -rf .venv build src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
