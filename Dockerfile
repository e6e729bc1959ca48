# The registry as a container: runs as a user without rights, on a read-only root file system.
# Writable: /var/lib/vskill (database), /var/cache/vskill (search index, can be built again) and /tmp.
# Multi-arch: every package of requirements/otel.lock has wheels for amd64 and arm64.
# Build: docker buildx build --platform linux/amd64,linux/arm64 --tag vskill-platform .
ARG PYTHON_VERSION=3.13

FROM python:${PYTHON_VERSION}-slim-bookworm AS build
WORKDIR /src
COPY requirements/otel.lock requirements/build.lock requirements/
# Without --upgrade-deps: pip checks every file against its hash in the lock files.
RUN python -m venv /opt/vskill \
 && /opt/vskill/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements/otel.lock \
 && python -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements/build.lock
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
 && /opt/vskill/bin/pip install --no-cache-dir --no-deps --no-index /wheels/*.whl \
 && /opt/vskill/bin/python -m compileall -q /opt/vskill/lib

FROM python:${PYTHON_VERSION}-slim-bookworm
LABEL org.opencontainers.image.title="vskill-platform" \
      org.opencontainers.image.description="A verified registry of agent skills that anyone can run." \
      org.opencontainers.image.licenses="Apache-2.0"
# git fetches the repos of submissions. Its version is the distribution's, which receives security fixes.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 vskill \
 && useradd --uid 10001 --gid vskill --home-dir /var/lib/vskill --no-create-home --shell /usr/sbin/nologin vskill \
 && install --directory --owner=vskill --group=vskill --mode=0700 /var/lib/vskill /var/cache/vskill
COPY --from=build /opt/vskill /opt/vskill
ENV PATH=/opt/vskill/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    VSKILL_HOST=0.0.0.0 \
    VSKILL_PORT=8000 \
    VSKILL_DATABASE_URL=sqlite:////var/lib/vskill/skills.db \
    VSKILL_CACHE_DIR=/var/cache/vskill \
    VSKILL_LOG_FORMAT=json
USER 10001:10001
WORKDIR /var/lib/vskill
VOLUME ["/var/lib/vskill", "/var/cache/vskill"]
EXPOSE 8000
# Workers serve no HTTP: switch the health check off for them.
HEALTHCHECK --interval=15s --timeout=6s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f\"http://127.0.0.1:{os.environ['VSKILL_PORT']}/readyz\", timeout=5)"]
ENTRYPOINT ["vskill-platform"]
CMD ["serve"]
