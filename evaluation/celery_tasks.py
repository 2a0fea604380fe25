"""What Celery's workers do for evaluation besides jobs. Every task may come twice, late, or never."""

from __future__ import annotations

from celery import shared_task

from evaluation.services.systems.shared_sums import ADD_UP, help_with


@shared_task(name=ADD_UP)
def add_up_spans(place: str) -> None:
    """Help a training with its covariances; see `evaluation.services.systems.shared_sums`."""
    help_with(place)
