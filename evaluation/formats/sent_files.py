"""Readers of uploaded files (`annotation.common.readers`): they yield plain data in parts."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.formats.feature_files import DescribedItems, open_features
from models_core import storage
from phrasebox.agreement.summary import (
    AgreementBetween,
    AgreementWithin,
    Resampling,
    agreement_between,
    agreement_within,
)
from phrasebox.balance import BELOW_DEPTH, CAPTIONS, EXAMPLES, NAMED_IMAGES, PAIRS, current_tally
from phrasebox.formats import JUDGMENT_FORMATS, JudgedPair
from phrasebox.formats.embeddings import read_sides, scores_of
from phrasebox.formats.qrels_files import QRELS_FORMATS, QrelsLine
from phrasebox.formats.scores import ScoreMatrix, read_scores
from phrasebox.formats.trec import read_run, still_apart
from phrasebox.scoring.ranking import best_by_strip
from phrasebox.scoring.tiles import NotANumber, check_finite
from phrasebox.text_files import FormatError, lines, short_repr

#: Number of ids, and of bytes of an array, in a part.
_IDS_AT_ONCE, _BYTES_AT_ONCE = 2_000, 4 * 2**20

#: A query, its items best first, their scores; with the names of the source.
FileRanking = tuple[str, list[str], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class SentFile:
    """The first part of a file: its tag, the number of parts that follow, and remarks."""

    tag: str
    number: int
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SentIds:
    """Some of the ids of a side of a file."""

    side: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMatrix:
    """A file of scores, or of embeddings (the captions may be in a second file), from which every score is
    computed as cosine or inner product."""

    format: str
    file: Path
    captions: Path | None = None
    cosine: bool = True

    def open(self) -> ScoreMatrix:
        """Open the files; raises FormatError."""
        if self.format == "scores":
            return read_scores(self.file)
        return scores_of(*read_sides(self.file, self.captions), cosine=self.cosine)


def read_rankings(upload: SentMatrix, depth: int, turned: bool) -> Iterator[SentFile | FileRanking]:
    """Yield a SentFile, then the rankings of a run: all of a TREC run, else the best `depth`, with captions
    as queries if `turned`."""
    if upload.format == "trec":
        run = read_run(upload.file)
        yield SentFile(run.tag, len(run.rankings))
        for query, (items, scores) in run.rankings.items():
            yield query, list(items), scores
        return
    matrix = upload.open()
    yield SentFile("", len(matrix.captions if turned else matrix.images), matrix.remarks)
    yield from best_ranked(matrix, depth, turned=turned)


def best_ranked(matrix: ScoreMatrix, depth: int, *, turned: bool) -> Iterator[FileRanking]:
    """Yield each query's best items from a matrix, a strip of queries at a time, with scores in single
    precision.

    Different scores of a file stay different (see `still_apart`). Computed scores that are equal in single
    precision are ties: their last digits are rounding errors. What ranks below the depth is counted.
    """
    queries, items = (matrix.captions, matrix.images) if turned else (matrix.images, matrix.captions)
    scores = matrix.scores.turned() if turned else matrix.scores
    number, below, ranked = 0, 0, np.zeros(len(items), bool)
    with matrix.naming(turned=turned):
        for best in best_by_strip(scores, depth or max(1, len(items))):
            with np.errstate(over="ignore"):  # overflowing values are rejected later, by name
                single = still_apart(best.scores) if matrix.precomputed else best.scores.astype(np.float32)
            ranked[best.items] = True
            below += len(best.items) * len(items) - best.items.size
            for best_items, values in zip(best.items.tolist(), single, strict=True):
                yield queries[number], [items[item] for item in best_items], values
                number += 1
    never = np.flatnonzero(~ranked).tolist()
    tally = current_tally()
    tally.pass_over(PAIRS, BELOW_DEPTH, below)
    tally.pass_over(
        NAMED_IMAGES if turned else CAPTIONS, BELOW_DEPTH, len(never), *(items[n] for n in never[:EXAMPLES])
    )


def read_system(upload: SentMatrix) -> Iterator[SentFile | SentIds]:
    """Yield a SentFile, whose number is the dimensions (0 for scores), then all ids, after checking the
    numbers."""
    matrix = upload.open()
    if upload.format == "scores":
        _check_scores(matrix)
        dimensions = 0
    else:
        dimensions = read_sides(upload.file, upload.captions)[0].vectors.shape[1]
    yield SentFile("", dimensions, matrix.remarks)
    yield from _ids("images", matrix.images)
    yield from _ids("captions", matrix.captions)


def write_system(
    upload: SentMatrix,
    folder: Path,
    settings: dict[str, Any],
    metadata: dict[str, Any],
    also: dict[str, NDArray[Any]],
) -> None:
    """Write the numbers of a file, and `also` other arrays, as a new model."""
    if upload.format == "scores":
        scores = read_scores(upload.file).scores
        arrays = {"scores": np.asarray(scores.tile(slice(None), slice(None)))}
    else:
        images, texts = read_sides(upload.file, upload.captions)
        arrays = {"images": images.vectors, "captions": texts.vectors}
    storage.save_model(folder, upload.format, {**arrays, **also}, settings, metadata)


def _check_scores(matrix: ScoreMatrix) -> None:
    scores = np.asarray(matrix.scores.tile(slice(None), slice(None)))
    try:
        check_finite(scores, "scores")
    except NotANumber as error:
        raise FormatError(
            f"the score of {short_repr(matrix.images[error.row])} with "
            f"{short_repr(matrix.captions[error.column])} is "
            f"{scores[error.row, error.column]}",
            file=matrix.file,
            expected="finite numbers",
        ) from error


def read_judged_pairs(path: Path, format: str, repeats: bool) -> Iterator[JudgedPair]:
    """Yield the pairs of a file of judgments; with `repeats`, a pair that occurs twice was answered twice."""
    reader = JUDGMENT_FORMATS.get(format)
    return (reader.counting_repeats() if repeats else reader).read(path)


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Judged pairs: `pairs`, or those of a file."""

    path: Path | None
    format: str
    repeats: bool
    pairs: tuple[JudgedPair, ...] = ()

    def read(self) -> Sequence[JudgedPair]:
        """Return the pairs; raises FormatError."""
        if self.path is None:
            return self.pairs
        pairs = list(read_judged_pairs(self.path, self.format, self.repeats))
        current_tally().take_others(PAIRS, len(pairs))
        return pairs


def agreement_of(
    first: JudgedSet,
    second: JudgedSet | None,
    resampling: Resampling,
    unit: str,
    thresholds: tuple[Sequence[float], Sequence[float]],
    unjudged_is_no: bool,
) -> AgreementWithin | AgreementBetween:
    """Return the agreement within `first`, or between the two, cut at the `thresholds` of each; raises
    FormatError and AgreementError."""
    if second is None:
        return agreement_within(first.read(), resampling, unit=unit)
    rows, columns = thresholds
    return agreement_between(
        first.read(),
        second.read(),
        resampling,
        rows=rows,
        columns=columns,
        unjudged_is_no=unjudged_is_no,
        unit=unit,
    )


def read_qrels_lines(path: Path, format: str) -> Iterator[QrelsLine]:
    """Yield the rows of a file of qrels."""
    return QRELS_FORMATS.get(format).read(path)


def read_json_lines(path: Path, expected: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each non-empty line, and its JSON object."""
    for number, text in lines(path):
        if not text.strip():
            continue
        try:
            data = json.loads(text)
            if not isinstance(data, dict):
                raise ValueError("is no object")
        except (ValueError, RecursionError) as error:
            raise FormatError(
                str(error), file=path, line=number, expected=f"an object of {expected}"
            ) from None
        yield number, data


def read_features(
    path: Path, kind: DescribedItems, ids_file: Path | None
) -> Iterator[tuple[int, int] | SentIds | NDArray[Any]]:
    """Yield the shape of a file of features, all its ids, then the boxes of regions."""
    file = open_features(path, kind, ids_file)
    yield file.shape
    yield from _ids("ids", file.ids)
    if kind == "regions" and file.boxes is not None:
        yield from _parts(np.asarray(file.boxes))


def read_feature_rows(
    path: Path, kind: DescribedItems, ids_file: Path | None, start: int, most: int
) -> Iterator[NDArray[Any]]:
    """Yield the rows of a file of features from `start` on, `most` at a time."""
    for block in open_features(path, kind, ids_file).blocks(start):
        yield from _parts(np.ascontiguousarray(block), most)


def _ids(side: str, ids: Sequence[str]) -> Iterator[SentIds]:
    for start in range(0, len(ids), _IDS_AT_ONCE):
        yield SentIds(side, tuple(ids[start : start + _IDS_AT_ONCE]))


def _parts(rows: NDArray[Any], most: int = 2**20) -> Iterator[NDArray[Any]]:
    step = max(1, min(most, _BYTES_AT_ONCE // max(1, rows[:1].nbytes)))
    for start in range(0, len(rows), step):
        yield np.array(rows[start : start + step])
