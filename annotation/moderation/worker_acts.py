"""Acts on workers of a campaign as operations: each worker separately, even if some are rejected."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.common.operations import Help, OperationContext
from annotation.moderation import worker_status
from annotation.moderation.worker_status import CannotDo, Done
from annotation.selectors.workers.choosing import ChosenWorkers, QuestionKind, check_kind, chosen_workers

_LONGEST_REASON = 200
#: Sums over the workers.
_COUNTS = ("judgments", "images", "drawers", "retired")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReinstateRequest(ChosenWorkers):
    """Workers who were suspended get tasks again; those whom the trust rules had suspended start over."""

    kind: Annotated[
        QuestionKind | None, Help(gettext_lazy("Kind of question"), gettext_lazy("By default all of them"))
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendRequest(ReinstateRequest):
    """Suspended workers get no new tasks; answers to open tasks still count."""

    reason: Annotated[
        str,
        Field(max_length=_LONGEST_REASON),
        Help(gettext_lazy("Reason"), gettext_lazy("The worker sees it")),
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawAnswersRequest(SuspendRequest):
    """The workers get no more tasks, and their answers no longer count: the results of their images are
    computed again without them. The answers stay stored and paid. Repeating it finishes an interrupted
    run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreAnswersRequest(ReinstateRequest):
    """Withdrawn answers count again, and the workers get tasks again, unless they are suspended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedWorker:
    """A worker, and the kinds of question for which something changed."""

    worker: str
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedWorker:
    """A worker for whom nothing was done, and the reason."""

    worker: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedWorkers:
    """The workers for whom something changed, those for whom nothing had to change, and those who were
    rejected."""

    changed: tuple[ChangedWorker, ...]
    same: tuple[str, ...]
    skipped: tuple[SkippedWorker, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecomputedAnswers:
    """Answers that were withdrawn or restored, and the consequences: images computed again, drawers whose
    status changed, and control items (`items`) that were retired. `overtaken` are workers, with the kinds at
    which it stopped, because the opposite was requested meanwhile."""

    workers: int
    judgments: int
    images: int
    drawers: int
    retired: int
    items: tuple[str, ...]
    overtaken: dict[str, tuple[str, ...]]


_R = TypeVar("_R", bound=ReinstateRequest)


def name_workers(request: _R, context: OperationContext) -> _R:
    """Return the request with the names of all selected workers. Raises Invalid."""
    campaign = request.row()
    check_kind(request.kind, campaign)
    names = tuple(chosen_workers(request, campaign))
    return replace(request, workers=names, everyone=False, find="", state=None, answering=None)


def suspend_workers(request: SuspendRequest, context: OperationContext) -> ChangedWorkers:
    """Suspend each worker. Raises CannotDo if all are rejected."""
    return _act_on_workers(request, context, worker_status.suspend_worker, reason=request.reason)


def reinstate_workers(request: ReinstateRequest, context: OperationContext) -> ChangedWorkers:
    """Reinstate each worker. Raises CannotDo if all are rejected."""
    return _act_on_workers(request, context, worker_status.reinstate_worker)


def withdraw_answers(request: WithdrawAnswersRequest, context: OperationContext) -> RecomputedAnswers:
    """Withdraw the answers of each worker in turn. Raises CannotDo if all were restored meanwhile."""
    stopped = _("stopped, because these answers were restored meanwhile: they count again (%(kinds)s)")
    return _recompute(request, context, worker_status.withdraw_worker_answers, stopped, reason=request.reason)


def restore_answers(request: RestoreAnswersRequest, context: OperationContext) -> RecomputedAnswers:
    """Restore the answers of each worker in turn. Raises CannotDo if all were withdrawn meanwhile."""
    stopped = _("stopped, because these answers were withdrawn meanwhile: they do not count (%(kinds)s)")
    return _recompute(request, context, worker_status.restore_worker_answers, stopped)


def _act_on_workers(
    request: ReinstateRequest, context: OperationContext, act: Callable[..., tuple[str, ...]], **about: Any
) -> ChangedWorkers:
    campaign = request.row()
    check_kind(request.kind, campaign)
    changed, same, failed = list[ChangedWorker](), list[str](), list[SkippedWorker]()
    for name, worker in chosen_workers(request, campaign).items():
        try:
            kinds = act(campaign=campaign, worker=worker, kind=request.kind, actor=context.actor, **about)
        except CannotDo as error:
            failed.append(SkippedWorker(worker=name, detail=str(error)))
            continue
        if kinds:
            changed.append(ChangedWorker(worker=name, kinds=kinds))
        else:
            same.append(name)
    if failed and not changed and not same:
        raise CannotDo(failed[0].detail)
    return ChangedWorkers(changed=tuple(changed), same=tuple(same), skipped=tuple(failed))


def _recompute(
    request: ReinstateRequest,
    context: OperationContext,
    act: Callable[..., Done],
    stopped: str,
    **about: Any,
) -> RecomputedAnswers:
    """Withdraw or restore; `stopped` is the error if the opposite was requested for all of them."""
    campaign = request.row()
    check_kind(request.kind, campaign)
    workers = chosen_workers(request, campaign)
    counts, items, overtaken = Counter[str](), list[str](), dict[str, tuple[str, ...]]()
    for number, (name, worker) in enumerate(workers.items()):

        def progress(done: int, total: int, before: int = number) -> None:
            context.report_progress("recomputing images", (before + done / max(1, total)) / len(workers))

        done = act(
            campaign=campaign,
            worker=worker,
            kind=request.kind,
            actor=context.actor,
            progress=progress,
            **about,
        )
        counts.update({name: getattr(done, name) for name in _COUNTS})
        items += done.items
        if done.overtaken:
            overtaken[name] = done.overtaken
    if len(overtaken) == len(workers) > 0:
        kinds = sorted({kind for stopped_at in overtaken.values() for kind in stopped_at})
        raise CannotDo(stopped % {"kinds": ", ".join(kinds)})
    return RecomputedAnswers(
        workers=len(workers),
        items=tuple(items),
        overtaken=overtaken,
        **{name: counts[name] for name in _COUNTS},
    )
