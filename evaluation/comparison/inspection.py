"""Inspecting one query of a run: its best items and their judgments, and the order in which to inspect
queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.comparison.missing import LEAVE_OUT
from evaluation.comparison.original_pairs import AnyQrels, OriginalPairs
from evaluation.comparison.scoring import score
from evaluation.models import PairAnswers, QrelsRow, Ranking, Run
from phrasebox.metrics import METRICS

#: The number of displayed items of a ranking, and the measure by which queries are sorted.
_TOP = 10
MEASURE = "nDCG@10"
#: Row ids are below this number; SQLite accepts no larger one.
_NO_ROW = 2**63


@dataclass(frozen=True, slots=True)
class _Judged:
    """What is known about a pair. `relevance` is None if the qrels do not have it.

    `answers` are the grades that judges gave, as the source has them; they may exist without a qrels row.
    """

    original: bool
    relevance: int | None
    judged: bool
    answers: tuple[float, ...]

    @property
    def yes(self) -> int:
        """The number of judges who said yes (1)."""
        return sum(answer == 1 for answer in self.answers)

    @property
    def graded(self) -> bool:
        """Whether the answers are grades instead of yes and no."""
        return any(answer not in (0, 1) for answer in self.answers)

    @property
    def mean(self) -> float:
        """The mean answer; raises ZeroDivisionError without answers."""
        return sum(self.answers) / len(self.answers)


@dataclass(frozen=True, slots=True)
class _Entry:
    """An image or a caption for display; `image` is the row of the image that it is or belongs to.

    `text` is the caption's, None for an image. Only what a page displays is read, so `name` is the file's
    (with the caption's number) even where `evaluation.selectors` would use the key.
    """

    key: int
    name: str
    image: Any
    text: str | None = None


@dataclass(frozen=True, slots=True)
class _Item:
    """One item of a ranking, with its rank, counted from 1."""

    rank: int
    entry: _Entry
    score: float
    judged: _Judged


def values_of(run: Run, snapshot: AnyQrels, measure: str = MEASURE) -> dict[int, float | None]:
    """Return each ranked query's value of a measure, by row id; None if it has none.

    Raises UnknownMeasure, and NotComparable.
    """
    name = METRICS.find(measure, family="ranking").name
    scored = score(run, snapshot, [name], missing=LEAVE_OUT)
    return {
        query: None if not np.isfinite(value) else value
        for query, value in zip(scored.queries.tolist(), scored.scores[name].per_query.tolist(), strict=True)
    }


def queries_in_order(run: Run) -> list[int]:
    """Return the row ids of the queries, in the order of the run."""
    column = "image_id" if run.direction == Run.ANNOTATION else "caption_id"
    rows = Ranking.objects.filter(run=run).order_by("position").values_list(column, flat=True)
    return [query for query in rows if query is not None]


def most_different(ours: Mapping[int, float | None], theirs: Mapping[int, float | None]) -> list[int]:
    """Return the queries with values in both, sorted by decreasing difference; equal ones in the order of
    `ours`."""
    apart = {
        query: abs(value - their_value)
        for query, value in ours.items()
        if value is not None and (their_value := theirs.get(query)) is not None
    }
    return sorted(apart, key=lambda query: -apart[query])


def worst(values: Mapping[int, float | None]) -> list[int]:
    """Return the queries by increasing value; those without one come last."""
    return sorted(values, key=lambda query: (values[query] is None, values[query] or 0.0))


def entries_of(run: Run, keys: Sequence[int], *, asking: bool) -> dict[int, _Entry]:
    """Return the queries of a run, or its items, by row id; unknown ones are omitted."""
    images, keys = run.corpus.images, [key for key in keys if key < _NO_ROW]
    if (run.direction == Run.ANNOTATION) == asking:
        return {row.pk: _Entry(row.pk, row.filename or row.key, row) for row in images.filter(pk__in=keys)}
    rows_of_keys = list(
        images.filter(captions__pk__in=keys).values_list(
            "pk", "captions__pk", "captions__number", "captions__external_id", "captions__text"
        )
    )
    rows = {row.pk: row for row in images.filter(pk__in={image for image, *_ in rows_of_keys})}
    return {
        key: _Entry(
            key, external_id or f"{rows[image].filename or rows[image].key}#{number}", rows[image], text=text
        )
        for image, key, number, external_id, text in rows_of_keys
    }


def top_of(run: Run, asking: _Entry, snapshot: AnyQrels | None, *, top: int = _TOP) -> list[_Item] | None:
    """Return the best items of a run for a query; None if it does not rank it."""
    by_image = run.direction == Run.ANNOTATION
    row = Ranking.objects.filter(run=run, **{"image_id" if by_image else "caption_id": asking.key}).first()
    if row is None:
        return None
    items = np.frombuffer(bytes(row.items), dtype="<i8")[:top].tolist()
    scores = np.frombuffer(bytes(row.scores), dtype="<f4")[:top].tolist()
    items_by_key = entries_of(run, items, asking=False)
    pairs = [(asking.key, item) if by_image else (item, asking.key) for item in items]
    owners = {
        key: located.image.pk for key, located in (items_by_key if by_image else {asking.key: asking}).items()
    }
    known = _known(pairs, owners, snapshot)
    return [
        _Item(rank, items_by_key[item], value, known[pair])
        for rank, (item, value, pair) in enumerate(zip(items, scores, pairs, strict=True), start=1)
    ]


def _known(
    pairs: Sequence[tuple[int, int]], owners: Mapping[int, int], snapshot: AnyQrels | None
) -> dict[tuple[int, int], _Judged]:
    """Return what is known about pairs of (image, caption); `owners` maps captions to their images."""
    rows: dict[tuple[int, int], tuple[int, bool]] = {}
    answers: dict[tuple[int, int], tuple[float, ...]] = {}
    if snapshot is not None and not isinstance(snapshot, OriginalPairs):
        images, captions = ({pair[side] for pair in pairs} for side in (0, 1))
        sides = {"image__in": images, "caption__in": captions}
        for image, caption, relevance, judged in QrelsRow.objects.filter(
            snapshot=snapshot, **sides
        ).values_list("image_id", "caption_id", "relevance", "judged"):
            rows[image, caption] = relevance, judged
        if snapshot.judgments_id is not None:
            pair_answers = PairAnswers.objects.filter(judgments=snapshot.judgments_id, **sides)
            for image, caption, grades in pair_answers.values_list("image_id", "caption_id", "grades"):
                answers[image, caption] = tuple(map(float, grades))
    return {
        pair: _Judged(
            owners[pair[1]] == pair[0],
            rows[pair][0] if pair in rows else None,
            pair in rows and rows[pair][1],
            answers.get(pair, ()),
        )
        for pair in pairs
    }
