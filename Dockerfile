# The documentation, which the server shows under /docs/.
FROM python:3.11.13-slim-trixie AS documentation
ARG PIP_EXTRA_INDEX_URL=""
WORKDIR /app
COPY constraints.txt ./
RUN pip install --no-cache-dir mkdocs-material -c constraints.txt
COPY . .
RUN mkdocs build

# One image for web, worker and periodic jobs; docker-compose.yml says which is which.
FROM python:3.11.13-slim-trixie

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PHRASEBOX_ENV=production \
    DATA_DIR=/data \
    STATIC_ROOT=/app/collected

# WordNet's noun files: the fallback for a mention's category. PostgreSQL's programs, for `backup` and `restore`:
# of the version in docker-compose.yml, which is that of this Debian.
RUN apt-get update \
    && apt-get install -y --no-install-recommends wordnet-base postgresql-client-17 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home phrasebox \
    && install -d -o phrasebox /data

WORKDIR /app
COPY requirements.txt requirements-extras.txt constraints.txt ./
# requirements.txt alone serves and annotates; the other has what features of pictures and Parquet files need.
ARG REQUIREMENTS=requirements-extras.txt
# A further index of packages, such as PyTorch's for builds without CUDA (docs/operation.md).
ARG PIP_EXTRA_INDEX_URL=""
RUN pip install --no-cache-dir -r ${REQUIREMENTS} -c constraints.txt
COPY . .
COPY --from=documentation /app/build/docs build/docs
# Static files get their names here; the secret lives no longer than this line.
RUN SECRET_KEY="$(head -c 48 /dev/urandom | base64)" SITE_URL=https://build CONTACT_EMAIL=build@example.org python manage.py collectstatic --no-input

USER phrasebox
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--workers", "3"]
