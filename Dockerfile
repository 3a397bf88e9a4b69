# docker build -t lapidary .
# For a base that never changes, name its digest: --build-arg BASE=debian@sha256:…
# .git is left out, so `lapidary --version` names a commit only if it is given: --build-arg LAPIDARY_COMMIT=… --build-arg SOURCE_DATE_EPOCH=…
ARG BASE=debian:bookworm-slim
ARG RUST=rust:1-bookworm

# Everything but the program. scripts/image adds one that is already built.
FROM ${BASE} AS base
ARG VERSION=unknown
ARG LAPIDARY_COMMIT=unknown
ARG CREATED=
ARG SOURCE=
LABEL org.opencontainers.image.title="Lapidary" \
    org.opencontainers.image.description="A fingerprint index for books: which books share parts with a text, and may it be published" \
    org.opencontainers.image.licenses="MIT OR Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${LAPIDARY_COMMIT}" \
    org.opencontainers.image.created="${CREATED}" \
    org.opencontainers.image.source="${SOURCE}"
RUN mkdir -m 0700 /data && chown 10093:10093 /data
USER 10093:10093
VOLUME /data
EXPOSE 8093
# Whether it is running, not whether it is ready: a restart does not fix a full disk.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["lapidary", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["lapidary"]
CMD ["serve", "--data", "/data/catalogue", "--listen", "0.0.0.0:8093"]

FROM ${RUST} AS build
RUN apt-get update && apt-get install -y --no-install-recommends libclang1-14 libclang-common-14-dev python3
WORKDIR /lapidary
COPY . .
ARG LAPIDARY_COMMIT=
ARG SOURCE_DATE_EPOCH=
# Dependencies are cached between builds. `touch` makes cargo recompile Lapidary whatever the times of its files are. All that is in C
# would be compiled again after each commit if SOURCE_DATE_EPOCH stayed set.
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/lapidary/target \
    touch src/*.rs crates/*/src/lib.rs \
    && env -u SOURCE_DATE_EPOCH LAPIDARY_COMMIT_TIME="$SOURCE_DATE_EPOCH" cargo build --release --locked --bin lapidary \
    && scripts/files target/release/lapidary /files

FROM base
COPY --from=build /files /usr/local
