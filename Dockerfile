ARG GO_VERSION=1.26

# The build runs on the machine's own platform, whatever it builds for.
FROM --platform=$BUILDPLATFORM golang:${GO_VERSION}-bookworm AS build
# The platform to build for, which BuildKit sets and others leave empty: then
# it is the build stage's own. A default here would win over BuildKit's value.
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -ldflags "-s -w -X main.release=${VERSION}" -o /soakline ./cmd/soakline

FROM scratch
ARG VERSION=devel
LABEL org.opencontainers.image.title="soakline" \
      org.opencontainers.image.description="Continuous open-loop load for Redis and Valkey" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /soakline /soakline
# A number, since there is no passwd file, and since runAsNonRoot asks for one.
USER 65532:65532
# On a container's own loopback nobody could scrape it. A variable and not an
# argument, so that it holds as well when arguments are given; a listen address
# in a configuration file gives way to it.
ENV SOAKLINE_WEB_LISTEN_ADDRESS=:9765
EXPOSE 9765
ENTRYPOINT ["/soakline"]
