"""`manage.py run_jobs`: only the embedded worker."""

import argparse
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.jobs import embedded_worker


class Command(BaseCommand):
    help = (
        "Run the jobs and the periodic work until interrupted, without a broker. `serve` starts this itself; "
        "alone it is for a server that is run in another way."
    )
    # Problems of the database are noticed in use, and may be solved a moment later.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        # The parent process: this process ends with it, even if it cannot be told.
        parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.REDIS_URL:
            raise CommandError(
                "REDIS_URL is set, so Celery's workers do this: celery -A config.celery worker, and beat"
            )
        embedded_worker.work(parent=options["parent"])
