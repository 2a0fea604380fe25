"""One query of a run looked at: its best items, what was judged of each, and which queries come first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.comparison.missing import LEAVE_OUT
from evaluation.comparison.scoring import score
from evaluation.models import PairAnswers, QrelsRow, QrelsSnapshot, Ranking, Run
from phrasebox.metrics import METRICS

#: How many items of a ranking are shown, and the measure by which queries are told apart.
_TOP = 10
MEASURE = "nDCG@10"
#: Ids of rows are below this; SQLite takes no larger number at all.
_NO_ROW = 2**63


@dataclass(frozen=True, slots=True)
class _Judged:
    """What is known of a pair. `relevance` is None where the qrels do not have it.

    `answers` are the grades that judges gave, as the source has them, and may be there without a row.
    """

    original: bool
    relevance: int | None
    judged: bool
    answers: tuple[float, ...]

    @property
    def yes(self) -> int:
        """How many judges said yes (1)."""
        return sum(answer == 1 for answer in self.answers)

    @property
    def graded(self) -> bool:
        """Whether the answers are grades, not yes and no."""
        return any(answer not in (0, 1) for answer in self.answers)

    @property
    def mean(self) -> float:
        """The mean answer; raises ZeroDivisionError where nobody answered."""
        return sum(self.answers) / len(self.answers)


@dataclass(frozen=True, slots=True)
class _Entry:
    """An image or a caption as it is shown; `image` is the row of the image that it is or belongs to.

    `text` is the caption's, None for an image. Nothing but what a page shows is read, so `name` is the file's
    (with the caption's number) even where `evaluation.selectors` would say the key.
    """

    key: int
    name: str
    image: Any
    text: str | None = None


@dataclass(frozen=True, slots=True)
class _Item:
    """One item of a ranking, with its rank from 1."""

    rank: int
    entry: _Entry
    score: float
    judged: _Judged


def values_of(run: Run, snapshot: QrelsSnapshot, measure: str = MEASURE) -> dict[int, float | None]:
    """Each query's value of a measure, by its row's id, of those that the run ranks; None where it has none.

    Raises UnknownMeasure, and NotComparable.
    """
    name = METRICS.find(measure, family="ranking").name
    scored = score(run, snapshot, [name], missing=LEAVE_OUT)
    return {
        query: None if not np.isfinite(value) else value
        for query, value in zip(scored.queries.tolist(), scored.scores[name].per_query.tolist(), strict=True)
    }


def queries_in_order(run: Run) -> list[int]:
    """The ids of the rows that ask, in the order of the run."""
    column = "image_id" if run.direction == Run.ANNOTATION else "caption_id"
    rows = Ranking.objects.filter(run=run).order_by("position").values_list(column, flat=True)
    return [query for query in rows if query is not None]


def most_different(ours: Mapping[int, float | None], theirs: Mapping[int, float | None]) -> list[int]:
    """Queries that both were scored on, the widest apart first; equal ones in the order of `ours`."""
    apart = {
        query: abs(value - their_value)
        for query, value in ours.items()
        if value is not None and (their_value := theirs.get(query)) is not None
    }
    return sorted(apart, key=lambda query: -apart[query])


def worst(values: Mapping[int, float | None]) -> list[int]:
    """Queries by value, the lowest first; those without one come last."""
    return sorted(values, key=lambda query: (values[query] is None, values[query] or 0.0))


def entries_of(run: Run, keys: Sequence[int], *, asking: bool) -> dict[int, _Entry]:
    """What asks in a run, or what is ranked, by the ids of rows; others are left out."""
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


def top_of(
    run: Run, asking: _Entry, snapshot: QrelsSnapshot | None, *, top: int = _TOP
) -> list[_Item] | None:
    """The best items that the run has for a query; None where it does not rank it."""
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
    pairs: Sequence[tuple[int, int]], owners: Mapping[int, int], snapshot: QrelsSnapshot | None
) -> dict[tuple[int, int], _Judged]:
    """What is known of pairs of (image, caption); `owners` maps captions to their images."""
    rows: dict[tuple[int, int], tuple[int, bool]] = {}
    answers: dict[tuple[int, int], tuple[float, ...]] = {}
    if snapshot is not None:
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
