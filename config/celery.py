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
    """Refuse to start without a broker: Celery would try to reach a local one forever, without a helpful
    message."""
    if not settings.REDIS_URL:
        sys.exit("REDIS_URL is not set: a worker needs the Redis of the web processes")


#: Contexts that a worker holds until it ends.
_held = contextlib.ExitStack()


@celeryd_init.connect
def refuse_while_restoring(**kwargs: Any) -> None:
    """Prevent workers during a restore, and a restore while workers run."""
    try:
        _held.enter_context(at_work())
    except Busy as error:
        sys.exit(str(error))


@worker_ready.connect
def end_without_beat(sender: Any, **kwargs: Any) -> None:
    """End the process with status 1 if beat, its child process, was killed, so that the supervisor restarts
    it: Celery would continue without it, and no periodic work would be done."""
    beat = getattr(sender.controller, "beat", None)
    if beat is None or not hasattr(beat, "join"):
        return

    def watch() -> None:
        beat.join()
        if state.should_stop is None:
            _log.error("beat stopped, so the clock stops too: restart it")
            state.should_stop = 1

    # The signal is sent again after a broker outage; one thread watches.
    if not any(thread.name == "beat lives" for thread in threading.enumerate()):
        threading.Thread(target=watch, name="beat lives", daemon=True).start()
