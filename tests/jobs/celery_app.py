"""The product's Celery application with the tests' kinds: `celery -A tests.jobs.celery_app worker`."""

import django

from config.celery import app

django.setup()

import tests.jobs.holding  # noqa: E402
import tests.jobs.kinds  # noqa: E402, F401  (its models need the line above)

__all__ = ["app"]
