# Everything uses one profile, so that RocksDB and the dependencies are compiled once.
BUILD := scripts/build cargo

.PHONY: demo help test reference lint guides site gems wasm python console-gems build bench bench-index

demo: build ## Run the demo
	@$(BUILD) run --release --locked --quiet -- demo

help: ## List all targets
	@sed -n 's/^\([a-z-]*\):.*## /\1: /p' Makefile

# Most tests wait for servers, so twice as many run at once as there are processors.
test: export RUST_TEST_THREADS ?= $(shell expr 2 \* $$(nproc))
test: ## Run all tests
	$(BUILD) test --release --locked

reference: ## Write what is generated: docs/openapi.json, docs/reference/{http,command-line,settings}.md and deploy/lapidary.toml
	UPDATE_OPENAPI=1 UPDATE_REFERENCE=1 $(BUILD) test --release --locked -p lapidary --lib --bin lapidary --test program up_to_date

lint: ## Check formatting, clippy and documentation; warnings are errors
	cargo fmt --all --check
	$(BUILD) clippy --release --locked --all-targets -- -D warnings
	$(BUILD) clippy --release --locked --bench index --bench layouts --bench soak --bench attack --bench duplicates -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(BUILD) doc --release --locked --no-deps
	cargo metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null

guides: build ## Run the commands of the guides
	scripts/guides $${CARGO_TARGET_DIR:-target}/release/lapidary

site: build ## Write the documentation as a site to target/site
	@$(BUILD) run --release --locked --quiet -- docs $${CARGO_TARGET_DIR:-target}/site

gems: ## Package lapidary-gems and build it for WebAssembly
	scripts/package-gems

wasm: build ## Build the npm package lapidary-gems and test it in Node.js and Chromium
	scripts/wasm $${CARGO_TARGET_DIR:-target}/release/lapidary

python: build ## Build the Python package and test it
	scripts/python $${CARGO_TARGET_DIR:-target}/release/lapidary

console-gems: wasm ## Put the npm package into the console, after a change of the crate lapidary-gems or the package
	UPDATE_GEMS=1 $(BUILD) test --release --locked --test program the_package_of_gems

build: ## Build target/release/lapidary
	$(BUILD) build --release --locked

bench: ## Benchmark fold, cut and hash
	$(BUILD) bench --locked

bench-index: ## Benchmark an index under load: make bench-index OPTIONS="--postings 1M"; OPTIONS=--help lists them
	$(BUILD) bench --locked --bench index -- $(OPTIONS)
