"""Settings, URLs and entry points."""

# Tasks bind to the application that exists when they are sent, so it must exist in every process.
from config.celery import app as celery_app

__all__ = ["celery_app"]
