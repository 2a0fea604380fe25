"""`manage.py work`: the old name of `run_jobs`, with the same arguments and the same output."""

from __future__ import annotations

from annotation.management.commands import run_jobs


class Command(run_jobs.Command):
    help = "Old name of run_jobs."
