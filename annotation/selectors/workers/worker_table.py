"""A campaign's workers in a requested order, one page at a time.

A table is sorted over the whole crowd, so all of it is read, with as few columns as possible; earnings come
as sums (`campaign.earned`). Pages are by key: the worker after whom the next one begins.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from annotation.models import Campaign, TrustState, Worker
from annotation.protocol.trust import READINGS, trust_reading
from annotation.selectors.campaign.cost import TEST_ROLE, bonuses, paid
from annotation.selectors.campaign.crowd import WorkerRow, workers
from annotation.selectors.campaign.sums import earned
from annotation.selectors.controls import control_metadata
from annotation.selectors.workers.reading_speed import ReadingSpeed, reading_paces

#: Columns by which the table can be sorted.
SORTS = ("worker", "answers", "accuracy", "seconds", "earned", "due")
#: States by which the table can be filtered.
WORKER_STATES = (*READINGS, "blocked", "withdrawn")
_PAGE = 50
#: Number of workers read at a time for a file.
_FILE_PAGE = 200


@dataclass(frozen=True, slots=True)
class WorkerTableRequest:
    """Which workers, in which order; empty fields match all. `after`: the last one of the previous page."""

    sort: str = "answers"
    up: bool = False
    kind: str = ""
    state: str = ""
    find: str = ""
    after: int = 0


@dataclass(slots=True)
class WorkerFigures:
    """A worker's sort keys: for one kind of question or for all, except the amount due.

    `known` and `right` of one kind are over the newest checked answers, by which the worker is judged.
    """

    name: str = ""
    answers: int = 0
    seconds: float = 0.0
    earned: int = 0
    due: int = 0
    known: int = 0
    right: int = 0
    states: set[str] = field(default_factory=set)

    @property
    def accuracy(self) -> float | None:
        """Share of control items answered rightly; None without any."""
        return self.right / self.known if self.known else None

    @property
    def seconds_per_answer(self) -> float | None:
        """Mean seconds of an answer."""
        return self.seconds / self.answers if self.answers else None

    def value(self, sort: str) -> float | str | None:
        """Return the sort key; None if it is unknown."""
        match sort:
            case "worker":
                return self.name
            case "accuracy":
                return self.accuracy
            case "seconds":
                return self.seconds_per_answer
            case _:
                return float(getattr(self, sort))


@dataclass(frozen=True, slots=True)
class WorkerTablePage:
    """A page of the table, and the worker to continue after, None at the end; `total` is the number of
    matches.

    `paces` are the reading speeds of workers with enough answers.
    """

    rows: list[tuple[WorkerRow, WorkerFigures]]
    after: int | None
    total: int
    paces: dict[int, ReadingSpeed]


def worker_page(campaign: Campaign, request: WorkerTableRequest, *, size: int = _PAGE) -> WorkerTablePage:
    """Return the requested workers of a campaign, from the one after `request.after` on."""
    figures = _matching(campaign, request)
    ids = _sorted(figures, request)
    start = ids.index(request.after) + 1 if request.after in figures else 0
    page = ids[start : start + size]
    rows = {row.id: row for row in workers(campaign, only=page, limit=size)} if page else {}
    return WorkerTablePage(
        rows=[(rows[worker], figures[worker]) for worker in page],
        after=page[-1] if start + size < len(ids) else None,
        total=len(ids),
        paces=reading_paces(campaign, page),
    )


def matching_workers(campaign: Campaign, request: WorkerTableRequest) -> dict[str, int]:
    """Return the ids of all requested workers by pseudonym, on any page, in order."""
    figures = _matching(campaign, request)
    return {figures[worker].name: worker for worker in _sorted(figures, request)}


def worker_rows_of(campaign: Campaign, ids: Sequence[int]) -> Iterator[tuple[WorkerRow, bool]]:
    """Yield these workers in this order, and whether each answers faster than people read; read page by
    page."""
    for start in range(0, len(ids), _FILE_PAGE):
        part = ids[start : start + _FILE_PAGE]
        rows = {row.id: row for row in workers(campaign, only=part, limit=_FILE_PAGE)}
        paces = reading_paces(campaign, part)
        for worker in part:
            yield rows[worker], worker in paces and paces[worker].flagged


def workers_called(campaign: Campaign, pseudonyms: Collection[str]) -> dict[str, int]:
    """Return by pseudonym the ids of those of these workers who have a trust state in the campaign, in the
    order of their ids."""
    rows = TrustState.objects.filter(campaign=campaign, worker__pseudonym__in=pseudonyms)
    return dict(rows.order_by("worker").values_list("worker__pseudonym", "worker").distinct())


def _matching(campaign: Campaign, request: WorkerTableRequest) -> dict[int, WorkerFigures]:
    figures: dict[int, WorkerFigures] = defaultdict(WorkerFigures)
    rows = TrustState.objects.filter(campaign=campaign)
    if request.kind:
        rows = rows.filter(kind=request.kind)
    there = control_metadata(campaign.pk, campaign.revision).known
    for worker, name, of, kind, state, examined, known, right, last, blocked, withdrawn in rows.values_list(
        "worker",
        "worker__pseudonym",
        "worker__kind",
        "kind",
        "state",
        "examined_items",
        "known",
        "right",
        "last",
        "blocked",
        "withdrawn_at",
    ):
        worker_figures = figures[worker]
        worker_figures.name = name
        is_model = of == Worker.MODEL
        reads = trust_reading(kind, state, there[kind], examined=examined is not None, is_model=is_model)
        worker_figures.states |= (
            {reads} | ({"blocked"} if blocked else set()) | ({"withdrawn"} if withdrawn else set())
        )
        worker_figures.known += len(last) if request.kind else known
        worker_figures.right += last.count("1") if request.kind else right
    for line in earned(campaign):
        if line.worker not in figures:
            continue
        worker_figures = figures[line.worker]
        worker_figures.due += line.pay
        if request.kind in ("", line.kind) and line.role != TEST_ROLE:
            worker_figures.answers += line.answers
            worker_figures.seconds += line.seconds
        if request.kind in ("", line.kind):
            worker_figures.earned += line.pay
    for worker, amount in paid(campaign).items():
        if worker in figures:
            figures[worker].due -= amount
    for worker, bonus in bonuses(campaign).items():
        if worker in figures:
            figures[worker].due += bonus
    return {
        worker: worker_figures
        for worker, worker_figures in figures.items()
        if request.state in ("", *worker_figures.states)
        and request.find.casefold() in worker_figures.name.casefold()
    }


def _sorted(figures: dict[int, WorkerFigures], request: WorkerTableRequest) -> list[int]:
    """Return the workers in order; those without a value come last in either direction."""
    values = {worker: (row.value(request.sort), row.name) for worker, row in figures.items()}
    with_value = [worker for worker, (value, _name) in values.items() if value is not None]
    rest = [worker for worker, (value, _name) in values.items() if value is None]
    with_value.sort(key=values.__getitem__, reverse=not request.up)
    return with_value + sorted(rest, key=lambda worker: values[worker][1])
