# Two commands do all set-up on a fresh machine: `make demo` runs the main job, `make test` passes the tests.
.PHONY: demo test check check-fast fmt bench eval fuzz hooks long

CARGO ?= cargo

demo: ## everything on one machine with nothing installed; Ctrl-C stops it
	bash .ci/page
	$(CARGO) build --locked --package chancery
	$(CARGO) run --quiet --locked --package chancery -- demo $(DEMO_FLAGS)

test: ## every suite; installs or starts what the tests need
	bash .ci/test

check: ## what CI runs, and then some: format, lints, tests, docs, generated files, licences
	bash .ci/check

check-fast: ## format, lints and unit tests only
	bash .ci/check fast

fmt:
	$(CARGO) fmt --all

bench: ## ratios against a bare proxy in the same run, written to docs/performance.md
	bash gateway/benches/run

eval: ## how good the guardrails are, on sets built from pinned packages; written to docs/guardrails-quality.md
	$(CARGO) build --locked --release --package guard --example judge
	python3 crates/guard/eval/run.py --write docs/guardrails-quality.md

fuzz: ## every fuzz target for FUZZ_SECONDS (60), FUZZ_MEGABYTES (1024); needs a C++ compiler; crashes go to fuzz/artifacts
	CARGO=$(CARGO) bash .ci/fuzz

hooks: ## a pre-commit hook that runs the formatter's check
	printf '#!/bin/sh\nexec cargo fmt --all --check\n' > "$$(git rev-parse --git-path hooks)/pre-commit"
	chmod +x "$$(git rev-parse --git-path hooks)/pre-commit"

long: ## by hand: kill rounds and properties at full scale, the gate's benches; results go to docs/reliability.md
	SCALE=10 bash .ci/test
	SCALE=2 bash gateway/benches/gate/run
