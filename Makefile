# One profile for everything: RocksDB and the dependencies are compiled once.
BUILD := scripts/build cargo

.PHONY: demo test lint build bench

demo: ## See it work
	@$(BUILD) run --release --locked --quiet -- demo

test: ## Run every test
	$(BUILD) test --release --locked

lint: ## Formatting, clippy and documentation, warnings being errors
	cargo fmt --check
	$(BUILD) clippy --release --locked --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(BUILD) doc --release --locked --no-deps

build: ## The program: target/release/lapidary
	$(BUILD) build --release --locked

bench: ## Speed of fold, cut and hash
	$(BUILD) bench --locked
