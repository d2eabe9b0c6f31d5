# Everything a contributor runs. `make test` and `make demo` need nothing but Python 3.11.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: setup demo test test-slow lint bench clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(READY)

demo: $(READY)
	$(BIN)/ambidex demo

test: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -m "not slow and not sb3_versions" -q

test-slow: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -m "slow or sb3_versions" -q

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	for benchmark in benchmarks/*.py; do echo "== $$benchmark"; OMP_NUM_THREADS=1 $(BIN)/python $$benchmark || exit 1; done

clean:
	rm -rf .venv build src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
