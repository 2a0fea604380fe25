"""`manage.py run_jobs`: the embedded worker alone."""

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
    # What a database lacks is seen when it is used, and may be there a moment later.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        # The process that started us: we end with it, even where it could not tell us so.
        parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.REDIS_URL:
            raise CommandError(
                "REDIS_URL is set, so Celery's workers do this: celery -A config.celery worker, and beat"
            )
        embedded_worker.work(parent=options["parent"])
