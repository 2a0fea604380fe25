"""The Celery application: `celery -A config.celery worker`. Its settings are Django's `CELERY_*`."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from celery import Celery
from celery.signals import celeryd_init
from django.conf import settings

from annotation.exclusive import Busy, at_work

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("phrasebox")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(related_name="celery_tasks")


@celeryd_init.connect
def refuse_without_broker(**kwargs: Any) -> None:
    """Without a broker Celery would try one on this machine for ever, and say nothing to the point."""
    if not settings.REDIS_URL:
        sys.exit("REDIS_URL is unset: a worker needs the Redis that the web processes send to")


#: What a worker holds until it ends.
_held = contextlib.ExitStack()


@celeryd_init.connect
def refuse_while_restoring(**kwargs: Any) -> None:
    """No worker beside a restore, and no restore beside a worker."""
    try:
        _held.enter_context(at_work())
    except Busy as error:
        sys.exit(str(error))
