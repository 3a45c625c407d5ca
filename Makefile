# The two commands of the README are `make up` and `make test`; each sets up all it needs.
PYTHON ?= python3
BIN := .venv/bin
STAMPS := build/stamps
# While the one compiles, the other can download.
MAKEFLAGS += --jobs=2
HOT := $(shell sed -n 's|^    "\(src/.*\.py\)",|\1|p' setup.py)

.PHONY: help up test test-spark test-secured test-versions test-spark-versions check demo bench soak dist platform setup generate clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 22

up: platform ## set up, then run the platform until Ctrl-C
	@$(BIN)/gralha up

test: setup ## set up, then check and test everything
	@scripts/test

test-spark: setup ## the part of `make test` that needs Spark
	@$(BIN)/pytest -q -n 2 --dist loadscope --no-loadscope-reorder --durations=10 tests/spark tests/pipelines

test-secured: setup ## all client suites on a broker with TLS, logins and rights
	@GRALHA_TEST_SECURITY=sasl_ssl $(BIN)/pytest -q -n 2 --dist loadscope --durations=10 tests/clients

test-versions: setup ## tests with each other Python that is installed here, in environments of their own
	@scripts/test_versions

test-spark-versions: setup ## the tests of Spark with PySpark 4.1 and 4.2, in environments of their own
	@scripts/test_spark_versions

check: setup ## the quick half of `make test`: format, lint, types, imports
	@scripts/check

demo: platform ## brokers, a generator and pipelines on Spark, as a live table, until Ctrl-C or for SECONDS=30
	@scripts/demo "$(SECONDS)"

bench: setup ## Gralha beside Apache Kafka on this machine; one PART=records, groups, replication, transactions, scale, security or spark
	@$(BIN)/python -m bench $(if $(PART),--part $(PART))

soak: setup ## three brokers under faults for MINUTES=10, or SEEDS=n runs of each simulated cluster
	@scripts/soak "$(MINUTES)" "$(SEEDS)"

dist: platform ## a wheel with compiled modules and a source distribution, in dist
	@scripts/dist

generate: setup ## message classes, and the pages of settings and rights, from their definitions
	@$(BIN)/python -m gralha.protocol.compiler
	@$(BIN)/python -m scripts.configuration_page
	@$(BIN)/python -m scripts.rights_table

# What the platform needs to run.
platform: $(STAMPS)/system $(STAMPS)/python $(STAMPS)/compiled

# And what testing needs. Of that (system packages, Java, Node) something may be missing: the platform runs
# without it, and `make test` says what to install.
setup: platform $(STAMPS)/java $(STAMPS)/classes $(STAMPS)/node ## all of the set-up

$(STAMPS)/system: scripts/setup_system
	@mkdir -p $(STAMPS)
	@if scripts/setup_system; then touch $@; fi

$(STAMPS)/python: pyproject.toml | $(STAMPS)/system
	@echo "setup: Python packages into .venv"
	@test -x $(BIN)/pip || { rm -rf .venv; $(PYTHON) -m venv .venv; } || \
		{ rm -rf .venv; echo "setup: run apt-get install python3-venv"; exit 1; }
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@GRALHA_COMPILE=0 $(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[dev,spark]'
	@touch $@

$(STAMPS)/compiled: setup.py $(HOT) | $(STAMPS)/python
	@echo "setup: compiling the hot modules"
	@if scripts/compile; then touch $@; fi

$(STAMPS)/java: scripts/setup_java $(wildcard tests/apache/pom.xml tests/apache/spark/pom.xml tests/apache/avro/pom.xml tests/apache/avro/*.java tests/clients/java/*.java) | $(STAMPS)/system $(STAMPS)/python
	@if command -v mvn >/dev/null && command -v javac >/dev/null; then \
		if scripts/setup_java; then touch $@; else echo "setup: no Apache Kafka for the tests"; fi; fi

$(STAMPS)/classes: scripts/keep_classes $(STAMPS)/java | $(STAMPS)/compiled
	@if test -f $(STAMPS)/java && scripts/keep_classes; then touch $@; fi

$(STAMPS)/node: scripts/setup_node $(wildcard tests/clients/kafkajs/package-lock.json) | $(STAMPS)/system
	@if command -v npm >/dev/null; then \
		if scripts/setup_node; then touch $@; else echo "setup: no kafkajs for the tests"; fi; fi

clean: ## remove what setup made
	rm -rf build .venv
	find src -name '*.so' -delete
