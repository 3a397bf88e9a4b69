FROM rust:1-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends libclang1-14 libclang-common-14-dev
WORKDIR /lapidary
COPY . .
# Dependencies are cached between builds. `touch` makes cargo recompile Lapidary whatever the times of its files are.
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/lapidary/target \
    touch src/*.rs crates/*/src/lib.rs && cargo build --release --locked --bin lapidary && cp target/release/lapidary /usr/local/bin

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends curl libstdc++6 && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10093 --home-dir /data --create-home lapidary
COPY --from=build /usr/local/bin/lapidary /usr/local/bin/lapidary
USER lapidary
VOLUME /data
EXPOSE 8093
# Checks liveness, not readiness: a restart does not fix a full disk.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD curl -fsS http://127.0.0.1:8093/healthz || curl -fsSk https://127.0.0.1:8093/healthz
STOPSIGNAL SIGTERM
ENTRYPOINT ["lapidary"]
CMD ["serve", "--data", "/data/catalogue", "--listen", "0.0.0.0:8093"]
