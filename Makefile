# One profile for everything: RocksDB and the dependencies are compiled once.
BUILD := scripts/build cargo

.PHONY: demo test lint guides gems build bench bench-index

demo: build ## See it work
	@$(BUILD) run --release --locked --quiet -- demo

test: ## Run every test
	$(BUILD) test --release --locked

lint: ## Formatting, clippy and documentation, warnings being errors
	cargo fmt --all --check
	$(BUILD) clippy --release --locked --all-targets -- -D warnings
	$(BUILD) clippy --release --locked --bench index --bench layouts --bench soak --bench attack -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(BUILD) doc --release --locked --no-deps

guides: build ## Run the guides as they are written
	scripts/guides $${CARGO_TARGET_DIR:-target}/release/lapidary

gems: ## The crate of gems, packaged and built for WebAssembly
	scripts/package-gems

build: ## The program: target/release/lapidary
	$(BUILD) build --release --locked

bench: ## Speed of fold, cut and hash
	$(BUILD) bench --locked

bench-index: ## An index under load: make bench-index OPTIONS="--postings 1M"; OPTIONS=--help lists them
	$(BUILD) bench --locked --bench index -- $(OPTIONS)
