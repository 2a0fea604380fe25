"""Celery tasks of evaluation other than jobs. Every task may run twice, late, or never."""

from celery import shared_task


@shared_task(name="evaluation.add_up_spans")
def add_up_spans(folder: str) -> None:
    """Help a training to sum covariances; see `evaluation.services.systems.shared_sums`."""
    from evaluation.services.systems.shared_sums import (
        help_with,  # workers and the scheduler start without SciPy
    )

    help_with(folder)
