"""What Celery's workers do for evaluation besides jobs. Every task may come twice, late, or never."""

from celery import shared_task


@shared_task(name="evaluation.add_up_spans")
def add_up_spans(folder: str) -> None:
    """Help a training with its covariances; see `evaluation.services.systems.shared_sums`."""
    from evaluation.services.systems.shared_sums import (
        help_with,  # a worker, and the clock, start without SciPy
    )

    help_with(folder)
