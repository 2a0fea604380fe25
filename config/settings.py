"""All settings, read from the environment. Nothing else in the project reads it.

`DATABASE_URL`, `REDIS_URL` and `DATA_DIR` say where things are; without them the product
runs embedded: SQLite under `var/`, no Redis, one machine.
"""

from __future__ import annotations

import os
from pathlib import Path

import dj_database_url

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(os.environ.get("DATA_DIR", BASE_DIR / "var")).resolve()

DEFAULT_SECRET = "insecure-key-for-development-only"
SECRET_KEY = os.environ.get("SECRET_KEY", DEFAULT_SECRET)
DEBUG = os.environ.get("DEBUG", "0") == "1"
ALLOWED_HOSTS = os.environ.get("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]").split(",")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "annotation",
    "evaluation",
]
AUTH_USER_MODEL = "annotation.Account"
DATABASES = {"default": dj_database_url.parse(os.environ.get("DATABASE_URL") or f"sqlite:///{DATA_DIR / 'phrasebox.sqlite3'}")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
