# make demo | test | bench | lint | format | clean. All of it happens in .venv and build/.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
  $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$p && break; done)
JOBS ?= $(shell nproc)
BIN := .venv/bin
DONE := .venv/done
PIP := $(BIN)/python -m pip install --disable-pip-version-check
WERROR := $(if $(CI),ON,OFF)
say = @echo "== $(1)"

export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Nothing here downloads models.
export HF_HUB_OFFLINE := 1

.PHONY: help demo test test-core test-python conformance bench lint format install clean FORCE

help:
	@echo "make demo     SmolLM2-135M generates text on the device tpu (sets everything up the first time)"
	@echo "make test     core tests (C++, no torch), then Python tests"
	@echo "make conformance  PyTorch's operator samples, all of them; writes docs/supported-ops.md (hours; PART=1/10 runs a tenth)"
	@echo "make bench    the benchmarks in bench/"
	@echo "make lint     formatters, ruff, layer and style checks"
	@echo "make format   apply the formatters"
	@echo "make install  only build the package and install it into .venv, editable"
	@echo "make clean    remove .venv and build/"

demo: $(DONE)/run $(DONE)/package
	$(call say,running examples/demo.py)
	@$(BIN)/python examples/demo.py

bench: $(DONE)/run $(DONE)/package
	@for b in $$(grep -l __main__ bench/*.py); do echo "== running $$b"; $(BIN)/python $$b; done

test: test-core test-python

# TP_BRIDGE=OFF: the core builds and passes where nothing of torch is seen.
test-core: $(DONE)/build
	$(call say,building the core and its tests in build/core)
	@[ -f build/core/build.ninja ] || rm -rf build/core
	@$(BIN)/cmake -S . -B build/core -G Ninja -DTP_BRIDGE=OFF -DTP_WERROR=$(WERROR) -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python >build/core.log 2>&1 || \
	  { cat build/core.log; exit 1; }
	@$(BIN)/cmake --build build/core -j $(JOBS)
	$(call say,core tests)
	@$(BIN)/ctest --test-dir build/core --output-on-failure

test-python: $(DONE)/test $(DONE)/package
	$(call say,Python tests)
	@$(BIN)/python -m pytest tests
	$(call say,a part of PyTorch's own samples (make conformance runs all))
	@$(BIN)/python -m pytest conformance -n $(JOBS) -q

# Hours on two cores. RESULTS may hold the lines of an earlier, interrupted run.
PART ?= 1/1
RESULTS := build/conformance.jsonl
conformance: $(DONE)/test $(DONE)/package
	$(call say,PyTorch's own samples against the CPU (part $(PART)); the table goes to docs/supported-ops.md)
	@TORCH_PJRT_CONFORMANCE_RESULTS=$(RESULTS) $(BIN)/python -m pytest conformance --all --part $(PART) -n $(JOBS) -q --tb=no || true
	@$(BIN)/python conformance/table.py $(RESULTS)

lint: $(DONE)/lint
	$(call say,clang-format)
	@git ls-files -- '*.cc' '*.h' | xargs -r $(BIN)/clang-format --dry-run -Werror
	$(call say,ruff)
	@$(BIN)/ruff format --check . && $(BIN)/ruff check .
	$(call say,layers and style)
	@$(BIN)/python tools/check_layers.py
	@$(BIN)/python tools/check_style.py
	@$(BIN)/python -m unittest discover -s tools -p '*_test.py'

format: $(DONE)/lint
	@git ls-files -- '*.cc' '*.h' | xargs -r $(BIN)/clang-format -i
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

install: $(DONE)/package

clean:
	rm -rf .venv build

# One file in .venv/done for each step that is done, so that a second run skips it.
$(DONE)/venv: tools/system_deps.sh
	$(call say,looking at the system)
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11, 3.12 or 3.13 is needed (make PYTHON=...)"; exit 1; }
	@tools/system_deps.sh $(PYTHON)
	$(call say,creating .venv with $$($(PYTHON) --version))
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	@mkdir -p $(DONE) build && touch $@

$(DONE)/build: requirements/build.txt $(DONE)/venv
	$(call say,installing build tools and torch ($<))
	@$(PIP) -r $< && touch $@

$(DONE)/run: requirements/run.txt requirements/run_alone.txt $(DONE)/build
	$(call say,installing what the demo needs ($<))
	@$(PIP) -r $< && $(PIP) --no-deps -r requirements/run_alone.txt && touch $@

$(DONE)/test: requirements/test.txt requirements/test_alone.txt $(DONE)/run
	$(call say,installing what the tests need ($<))
	@$(PIP) -r $< && $(PIP) --no-deps -r requirements/test_alone.txt && touch $@

$(DONE)/lint: requirements/lint.txt $(DONE)/venv
	$(call say,installing formatters ($<))
	@$(PIP) -q -r $< && touch $@

# Editable: changed Python files need no new installation, new and removed ones do; C++ is built again when changed.
$(DONE)/package: $(DONE)/build $(DONE)/files pyproject.toml CMakeLists.txt $(wildcard cmake/*) $(wildcard src/*/*.cc src/*/*.h)
	$(call say,building the package and installing it into .venv)
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(PIP) -v --no-deps --no-build-isolation --config-settings=cmake.define.TP_WERROR=$(WERROR) -e . && touch $@

$(DONE)/files: FORCE | $(DONE)/venv
	@find python src -name '*.py' -o -name '*.cc' -o -name '*.h' | LC_ALL=C sort >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
