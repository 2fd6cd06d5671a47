# `make help` lists what there is. Every task that needs packages makes a virtual environment of its own, so nothing has
# to be installed first but Python with its headers, a C compiler and make. PYTHON chooses the interpreter.

PYTHON ?= python3
TAG := $(shell $(PYTHON) -c 'import sys; print("%d.%d%s" % (*sys.version_info[:2], "t" if "t" in sys.abiflags else ""))')

TEST_VENV ?= .venv-test-$(TAG)
GPU_VENV ?= .venv-gpu-$(TAG)
LINT_VENV ?= .venv-lint
DEMO_VENV ?= .venv-demo

# torch and jax are large; on interpreters other than 3.11 the suite runs without them, and without those that take the
# double of the CUDA driver for their own (280 MB unpacked, no library of CUDA among it).
TEST_LIBS ?= pytest pytest-randomly pytest-timeout pytest-xdist hypothesis cffi 'cython>=3.2.8' numpy ml_dtypes pillow \
	pyarrow arro3-core pandas polars duckdb nanoarrow narwhals \
	apache-tvm-ffi 'torch==2.13.0; python_version == "3.11"' 'jax==0.10.2; python_version == "3.11"' \
	'cuda-bindings==13.5.0; python_version == "3.11"' 'cuda-core==1.2.2; python_version == "3.11"' \
	'numba-cuda==0.30.4; python_version == "3.11"'
DEMO_LIBS ?= numpy pillow pyarrow pandas polars arro3-core duckdb apache-tvm-ffi 'torch==2.13.0; python_version < "3.15"' \
	'jax==0.10.2; python_version < "3.15"'
# of `make test-gpu-double`: 100 MB to fetch, 450 MB unpacked; torch takes part where its folder is on PYTHONPATH
GPU_LIBS ?= pytest pytest-randomly pytest-timeout pytest-xdist hypothesis 'cython>=3.2.8' numpy cupy-rocm-7-0==14.2.0
GPU_TESTS ?= tests/devices/test_cupy.py tests/devices/test_check_on_gpu.py
LINT_LIBS ?= ruff==0.17.6 mypy==2.4.1 cython-lint==0.22.1
# peers of the benchmarks beside those of the tests; all light, and none of them needs a GPU
BENCH_LIBS ?= cuda-core cuda-bindings nanobind nanoarrow
BUILD_LIBS ?= build meson ninja 'cython>=3.2.8'

PYTEST_ARGS ?=
# one process for each core, four at most (each has torch and jax in it); a file's tests stay together
PYTEST_PARALLEL ?= -n auto --maxprocesses 4 --dist loadfile

# of `make fuzz`: how long (0: until interrupted), how many inputs (0: as the time allows), how many processes, how many
# of them with AddressSanitizer
FUZZ_SECONDS ?= 60
FUZZ_RUNS ?= 0
FUZZ_JOBS ?= 1
FUZZ_ASAN ?= 0
FUZZ_ARGS ?=
SANITIZE_ARGS ?=

# Whatever a build of lend depends on; the folders are listed too, so that a removed file counts as a change.
SOURCES := $(shell find src -not -path '*__pycache__*') meson.build pyproject.toml README.md LICENSE NOTICE

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.PHONY: help demo test test-slow test-all test-gpu-double fuzz sanitize bench lint format dist check-freethreading clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-20s %s\n", $$1, $$2}' Makefile

demo: ## install lend from source into a fresh environment and run demo/demo.py (DEMO_LIBS=...)
	rm -rf $(DEMO_VENV)
	$(PYTHON) -m venv $(DEMO_VENV)
	@echo "== installing the libraries of the demo (torch and jax are large)"
	$(DEMO_VENV)/bin/python -m pip install -q --disable-pip-version-check $(DEMO_LIBS)
	@echo "== building and installing lend"
	$(DEMO_VENV)/bin/python -m pip install -q --disable-pip-version-check .
	$(DEMO_VENV)/bin/python demo/demo.py
	$(DEMO_VENV)/bin/python demo/frames.py

test: $(TEST_VENV)/lend.stamp ## install lend from source and run the tests (PYTEST_ARGS="-k name -x")
	$(TEST_VENV)/bin/python -m pytest -m "not slow" $(PYTEST_PARALLEL) $(PYTEST_ARGS)

test-slow: $(TEST_VENV)/lend.stamp ## run the tests that take long: threads, long runs of the state machine
	$(TEST_VENV)/bin/python -m pytest -m slow $(PYTEST_ARGS)

test-all: ## run the tests under every CPython >= 3.11 found on this machine, free-threaded ones too
	@failed=; found=$$($(PYTHON) tools/interpreters.py) || exit 1; \
	for python in $$found; do \
		echo "== $$python"; \
		$(MAKE) test PYTHON=$$python || failed="$$failed $$python"; \
	done; \
	if [ -n "$$failed" ]; then echo "failed under:$$failed"; exit 1; fi

test-gpu-double: $(GPU_VENV)/lend.stamp ## run CuPy (its ROCm build) over the double of HIP, and torch where it has CUDA
	$(GPU_VENV)/bin/python -m pytest $(GPU_TESTS) $(PYTEST_ARGS)

fuzz: .venv-build-$(TAG)/libs.stamp ## fuzz every way in, guided by coverage (FUZZ_SECONDS= FUZZ_RUNS= FUZZ_JOBS= FUZZ_ASAN=)
	.venv-build-$(TAG)/bin/python tools/fuzz.py --seconds $(FUZZ_SECONDS) --runs $(FUZZ_RUNS) --jobs $(FUZZ_JOBS) \
		--asan $(FUZZ_ASAN) $(FUZZ_ARGS)

sanitize: $(TEST_VENV)/lend.stamp ## run the tests of lifetimes, hostile input and C under ASAN, UBSAN and TSAN
	$(TEST_VENV)/bin/python tools/sanitize.py $(SANITIZE_ARGS)

bench: $(TEST_VENV)/lend.stamp ## measure side by side with peers in one run (BENCH_ARGS=...)
	$(TEST_VENV)/bin/python -m pip install -q $(BENCH_LIBS)
	$(TEST_VENV)/bin/python benchmarks/run.py $(BENCH_ARGS)

lint: $(LINT_VENV)/libs.stamp ## check style and types: ruff, mypy --strict, cython-lint
	$(LINT_VENV)/bin/ruff check .
	$(LINT_VENV)/bin/ruff format --check .
	$(LINT_VENV)/bin/mypy
	PATH="$(CURDIR)/$(LINT_VENV)/bin:$$PATH" cython-lint src/lend

format: $(LINT_VENV)/libs.stamp ## rewrite the Python files the way `make lint` wants them
	$(LINT_VENV)/bin/ruff check --fix-only .
	$(LINT_VENV)/bin/ruff format .

dist: .venv-build-$(TAG)/libs.stamp ## build the sdist, from it the wheel, and check what is in them (committed files only)
	rm -rf dist
	.venv-build-$(TAG)/bin/python -m build .
	$(PYTHON) tools/check_dist.py dist

check-freethreading: .venv-build-$(TAG)/libs.stamp ## compile every module as free-threaded CPython 3.13 would
	PATH="$(CURDIR)/.venv-build-$(TAG)/bin:$$PATH" $(PYTHON) tools/check_freethreading.py

clean: ## remove builds, environments and caches
	rm -rf build dist .build-* .fuzz .sanitize .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests tools demo benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is made anew when the list of its packages, this file, changed.
$(TEST_VENV)/libs.stamp: Makefile
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install -q $(TEST_LIBS)
	touch $@

$(LINT_VENV)/libs.stamp: Makefile
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install -q $(LINT_LIBS)
	touch $@

.venv-build-$(TAG)/libs.stamp: Makefile
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install -q $(BUILD_LIBS)
	touch $@

$(GPU_VENV)/libs.stamp: Makefile
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install -q $(GPU_LIBS)
	touch $@

# Build isolation is on: Cython and meson come from pyproject.toml, not from the environment.
$(TEST_VENV)/lend.stamp: $(TEST_VENV)/libs.stamp $(SOURCES)
	$(@D)/bin/python -m pip install -q --force-reinstall --no-deps .
	touch $@

$(GPU_VENV)/lend.stamp: $(GPU_VENV)/libs.stamp $(SOURCES)
	$(@D)/bin/python -m pip install -q --force-reinstall --no-deps .
	touch $@
