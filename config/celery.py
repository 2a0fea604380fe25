"""The Celery application: `celery -A config.celery worker`. Its settings are Django's `CELERY_*`."""

import contextlib
import logging
import os
import sys
import threading
from typing import Any

from celery import Celery
from celery.signals import celeryd_init, worker_ready
from celery.worker import state
from django.conf import settings

from annotation.common.locks import Busy, at_work

_log = logging.getLogger(__name__)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("phrasebox")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(related_name="celery_tasks")


@celeryd_init.connect
def refuse_without_broker(**kwargs: Any) -> None:
    """Without a broker Celery would try one on this machine for ever, and say nothing to the point."""
    if not settings.REDIS_URL:
        sys.exit("REDIS_URL is not set: a worker needs the Redis of the web processes")


#: What a worker holds until it ends.
_held = contextlib.ExitStack()


@celeryd_init.connect
def refuse_while_restoring(**kwargs: Any) -> None:
    """No worker beside a restore, and no restore beside a worker."""
    try:
        _held.enter_context(at_work())
    except Busy as error:
        sys.exit(str(error))


@worker_ready.connect
def end_without_beat(sender: Any, **kwargs: Any) -> None:
    """Where beat, a process of the clock's own, is killed, Celery would go on without it, and no periodic
    work be done any more. So the clock ends, with status 1, and its supervisor restarts it."""
    beat = getattr(sender.controller, "beat", None)
    if beat is None or not hasattr(beat, "join"):
        return

    def watch() -> None:
        beat.join()
        if state.should_stop is None:
            _log.error("beat stopped, so the clock stops too: restart it")
            state.should_stop = 1

    # Sent again where the broker was away; one watches.
    if not any(thread.name == "beat lives" for thread in threading.enumerate()):
        threading.Thread(target=watch, name="beat lives", daemon=True).start()
