# All targets work on a fresh clone with Python 3.11+, a Rust toolchain and a Linux kernel, with or without root.
.DEFAULT_GOAL := help
.PHONY: help run build test check bench update clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Set up, then measure: make run ARGS="--sut bridge"
	@.venv/bin/nodrop run $(ARGS)

build: ## Set up .venv with nodrop and its native programs
	@scripts/install

test: ## Set up, then check and test; with the suites of others' software and of measured figures: make test ARGS=--all
	@scripts/install --dev
	@scripts/test $(ARGS)

check: ## Format, lint, types, imports and schemas
	@scripts/install --dev
	@scripts/check

bench: ## Benchmark the engine beside its peers (root), or searches: make bench ARGS="search --seeds 20"
	@scripts/bench $(or $(ARGS),engine)

update: ## Raise every locked dependency, list the changes, and test
	@scripts/update
	@$(MAKE) --no-print-directory test ARGS=--all

clean: ## Remove what was built; results stay
	rm -rf .venv target dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find python tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
