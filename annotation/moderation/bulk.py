"""What is done about several workers at once, each by itself: one refusal keeps the others from nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from annotation.models import Account, Campaign
from annotation.moderation.discarding import CannotDo, reinstate_worker, suspend_worker


@dataclass(frozen=True, slots=True)
class BulkResult:
    """How many workers something changed for, how many were so already, and why the others were refused, by
    their ids."""

    changed: int
    same: int
    refused: dict[int, str]


def suspend_workers(
    *, campaign: Campaign, workers: Sequence[int], reason: str = "", actor: Account | None = None
) -> BulkResult:
    """Suspend these workers from all kinds, as `suspend_worker` does; they read `reason`."""
    return _each(
        workers,
        lambda worker: suspend_worker(campaign=campaign, worker=worker, reason=reason, actor=actor),
    )


def reinstate_workers(
    *, campaign: Campaign, workers: Sequence[int], actor: Account | None = None
) -> BulkResult:
    """Reinstate these workers for all kinds, as `reinstate_worker` does."""
    return _each(workers, lambda worker: reinstate_worker(campaign=campaign, worker=worker, actor=actor))


def _each(workers: Sequence[int], act: Callable[[int], tuple[str, ...]]) -> BulkResult:
    changed, refused = 0, dict[int, str]()
    for worker in workers:
        try:
            changed += bool(act(worker))
        except CannotDo as error:
            refused[worker] = str(error)
    return BulkResult(changed, len(workers) - changed - len(refused), refused)
