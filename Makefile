# `make help` lists the targets. Every target that needs Python uses .venv, which
# `make setup` builds from the locks in requirements/ and repairs when it is not whole.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup test test-newest reproduce figures book lint kernels sample bench lab lock clean

# The first of these that runs and is new enough; PYTHON=… overrides it.
PYTHON ?= $(shell for p in python3.11 python3 python3.12 python3.13; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

# Some containers forbid Python to keep its bytecode. Each of the many processes started here would
# then compile every library that it imports again: twice the time for the same results.
unexport PYTHONDONTWRITEBYTECODE

PY := .venv/bin/python
READY := .venv/.ready

# .ready is written last and names the folder it was built in. If the folder was copied or
# moved, or the interpreter behind .venv is gone, it is removed here and .venv is built again.
$(shell [ "$$(cat $(READY) 2>/dev/null)" = "$$(pwd -P)" ] && $(PY) -c '' 2>/dev/null || rm -f $(READY))

# One thread in every library: the machine's cores go to processes.
test test-newest bench reproduce figures: export OMP_NUM_THREADS := 1
test test-newest bench reproduce figures: export OPENBLAS_NUM_THREADS := 1
test test-newest bench reproduce figures: export MKL_NUM_THREADS := 1
test test-newest bench reproduce figures: export NUMBA_NUM_THREADS := 1

# $(call install,ARGUMENTS): uv is several times faster than pip, but it does not read pip's
# configuration, so a machine whose index is set there needs pip.
install = $(PY) -m uv pip install --quiet --python $(PY) $(1) || { \
	echo "uv could not install this; trying pip, which also reads pip's configuration."; \
	$(PY) -m pip install --quiet $(1); }

new-venv = { "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "heavybandit needs Python 3.11 or newer, and PYTHON='$(PYTHON)' is not: name one with make PYTHON=..." >&2; \
	exit 1; }; } && \
	echo "Building .venv with $(PYTHON)" && \
	"$(PYTHON)" -m venv --clear .venv && \
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.lock

# Every cell is executed again in this environment, and what it prints is compared. What notebooks
# write goes into build/chapters, never onto what is committed.
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout=600
# What is said about compiling kernels is no output of a notebook.
test test-newest: export HEAVYBANDIT_QUIET := 1

# Figures, the ledger and the tables that notebooks write, compared byte by byte (pictures pixel by
# pixel); names what differs.
define same-as-committed
	$(PY) -m heavybandit compare $(1)/figures figures
	for file in claims.json map.csv leaderboard.csv; do cmp $(1)/data/$$file data/$$file || exit 1; done
	@echo "figures/ and what notebooks write into data/ come out the same"
endef

define lint-with
	$(1) -m ruff check .
	$(1) -m ruff format --check .
	$(1) -m mypy
endef

help: ## Lists the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## Builds .venv from the locks, or does nothing if it is up to date.

# A .venv without .ready was left behind by an interrupted run: it is emptied, not trusted.
$(READY): requirements/bootstrap.lock requirements/test.lock pyproject.toml
	@[ -f $(READY) ] || { $(new-venv); }
	@rm -f .venv/.ready .venv/.ready-*
	@echo "Installing requirements/test.lock"
	@$(call install,--require-hashes -r requirements/test.lock)
	@$(call install,--no-deps --no-build-isolation -e .)
	@pwd -P > $@

.venv/.ready-%: requirements/%.lock $(READY)
	@echo "Installing requirements/$*.lock"
	@$(call install,--require-hashes -r requirements/$*.lock)
	@touch $@

test: setup .venv/.ready-book ## Checks style and types, runs all tests, simulates a sample of data/ again, reads the book in a browser.
	@$(MAKE) --no-print-directory -j 2 lint kernels
	$(PY) -m pytest -n 2
	rm -rf build/chapters
	$(PY) -m pytest -n 2 --dist loadfile $(NBVAL) notebooks
	$(call same-as-committed,build/chapters)
	@$(MAKE) --no-print-directory -j 2 sample book
	@$(PY) tests/browser/chromium.py

# Parts of `make test` that do not keep two cores busy: they are done two at a time.
kernels: setup
	$(PY) tests/warm.py

sample: setup
	$(PY) -m heavybandit verify

# What `make bench` measured is about a machine, and the log of chapter 10 is not ours: the notebooks
# read both as they were recorded.
reproduce: setup ## Simulates everything from scratch and says what differs from data/.
	@rm -rf build/reproduce
	$(PY) -m heavybandit sweep --all --store build/reproduce/store --data build/reproduce/data
	cp data/bench.csv data/bench.json data/rand_hie.csv build/reproduce/data/
	$(PY) -m heavybandit notebooks --out build/reproduce/notebooks \
		--set data=../build/reproduce/data --set out=../build/reproduce
	$(PY) -m heavybandit compare build/reproduce/data data
	$(call same-as-committed,build/reproduce)

figures: setup ## Executes the notebooks on the results in data/, and renews them and figures/.
	rm -rf build/chapters
	$(PY) -m heavybandit notebooks --out build/notebooks
	cp build/notebooks/*.ipynb notebooks/
	cp build/chapters/figures/* figures/
	cp build/chapters/data/* data/
	$(PY) -m heavybandit claims --write-readme README.md --write-claims CLAIMS.md

# Warnings are errors. The notebooks are shown as committed, not executed again.
define build-book
	rm -rf build/book
	$(PY) book/gather.py
	$(PY) -m sphinx -q -W --keep-going -d build/book/doctrees -b html build/book/source build/book/html
endef

book: setup .venv/.ready-book ## Builds the reading edition: build/book/html/index.html.
	$(build-book)
	@echo "open build/book/html/index.html, or: $(PY) -m http.server --bind 127.0.0.1 -d build/book/html"

test-newest: ## Runs the same checks with the newest versions of everything, in .venv-newest.
	@"$(PYTHON)" -m venv --clear .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade pip
	.venv-newest/bin/python -m pip install --quiet -e '.[test,cluster]'
	.venv-newest/bin/python -m pip list
	$(call lint-with,.venv-newest/bin/python)
	.venv-newest/bin/python -m pytest -n 2
	rm -rf build/chapters
	.venv-newest/bin/python -m pytest -n 2 --dist loadfile $(NBVAL) notebooks

lint: setup ## Checks style and types only.
	$(call lint-with,$(PY))

bench: setup .venv/.ready-bench ## Measures what the engine costs, also against other packages: ratios within one run.
	$(PY) tests/benchmark.py

lab: setup .venv/.ready-lab ## Opens JupyterLab on the notebooks, reachable from this machine only.
	$(PY) -m jupyterlab --ip=127.0.0.1 $$([ "$$(id -u)" -ne 0 ] || echo --allow-root) notebooks

# Resolves again within requirements/versions.in; packages not named there keep the version
# of the existing lock while it still fits. No package host may enter a lock.
COMPILE := $(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --annotation-style line \
	-c requirements/versions.in

lock: ## Resolves all dependencies again and rewrites requirements/*.lock.
	@[ -x .venv/bin/uv ] || { $(new-venv); }
	$(COMPILE) requirements/bootstrap.in -o requirements/bootstrap.lock
	$(COMPILE) pyproject.toml --extra test --extra cluster -o requirements/test.lock
	$(COMPILE) -c requirements/test.lock pyproject.toml --extra lab -o requirements/lab.lock
	$(COMPILE) -c requirements/test.lock -c requirements/lab.lock pyproject.toml --extra book \
		-o requirements/book.lock
	$(COMPILE) -c requirements/test.lock -c requirements/lab.lock -c requirements/book.lock \
		pyproject.toml --extra bench -o requirements/bench.lock
	$(COMPILE) -c requirements/test.lock pyproject.toml --extra logs -o requirements/logs.lock

clean: ## Removes .venv, caches and everything else that was built.
	rm -rf .venv .venv-newest .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	rm -rf src/heavybandit.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
