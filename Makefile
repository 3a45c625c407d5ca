# The two commands of the README are `make up` and `make test`; each sets up all it needs.
PYTHON ?= python3
BIN := .venv/bin
STAMPS := build/stamps
HOT := $(shell find src/gralha -name '*.py')

.PHONY: help up test check bench setup generate clean

help:
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile | expand -t 12

up: setup ## set up, then run the platform until Ctrl-C
	@$(BIN)/gralha up

test: setup ## set up, then check and test everything
	@scripts/test

check: setup ## the quick half of `make test`: format, lint, types, imports
	@scripts/check

bench: setup ## Gralha beside Apache Kafka on this machine
	@$(BIN)/python -m bench

generate: setup ## message classes from their definitions
	@$(BIN)/python -m gralha.protocol.compiler

setup: $(STAMPS)/python $(STAMPS)/compiled $(STAMPS)/system $(STAMPS)/java $(STAMPS)/node ## everything that running and testing need

$(STAMPS)/python: pyproject.toml
	@mkdir -p $(STAMPS)
	@echo "setup: Python packages into .venv"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@GRALHA_COMPILE=0 $(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[dev]'
	@touch $@

$(STAMPS)/compiled: setup.py $(HOT) | $(STAMPS)/python
	@echo "setup: compiling the hot modules"
	@scripts/compile
	@touch $@

# Without the right to install, or without Java or Node, the platform still runs; tests say what is missing.
$(STAMPS)/system: scripts/setup_system
	@mkdir -p $(STAMPS)
	@if scripts/setup_system; then touch $@; fi

$(STAMPS)/java: scripts/setup_java $(wildcard tests/apache/pom.xml) $(wildcard tests/clients/java/*.java) | $(STAMPS)/system
	@if command -v mvn javac >/dev/null; then scripts/setup_java && touch $@; fi

$(STAMPS)/node: scripts/setup_node $(wildcard tests/clients/kafkajs/package-lock.json) | $(STAMPS)/system
	@if command -v npm >/dev/null; then scripts/setup_node && touch $@; fi

clean: ## remove what setup made
	rm -rf build .venv
	find src -name '*.so' -delete
