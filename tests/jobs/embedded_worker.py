"""The embedded worker with the tests' kinds: `python -m tests.jobs.embedded_worker`."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

import tests.jobs.holding  # noqa: E402
import tests.jobs.kinds  # noqa: E402, F401  (its models need the line above)
from annotation.jobs import embedded_worker, schedule  # noqa: E402

# Periodic jobs would interfere with those that a test observes.
del schedule.PERIODIC["ask_next_rounds"]
embedded_worker.work()
