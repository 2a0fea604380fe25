"""Figures of several sets of captions against the same references, and their differences from the first
set."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.selectors.corpora import corpus_named, split_names
from evaluation.comparison.set_comparisons import set_differences, set_figures, table_of_differences
from evaluation.comparison.subsets import Subset, subset_named
from phrasebox.agreement.summary import Resampling
from phrasebox.figure_basis import basis_from_dict
from phrasebox.figure_tables import Table
from phrasebox.metrics.captions import DEFAULT_CUT, FAMILY, Captions, score_captions
from phrasebox.metrics.table import METRICS
from phrasebox.significance.randomisation import ROUNDS
from phrasebox.significance.sums import SummedFigure

#: Number of digits of the digest in a label.
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Documents:
    """The texts of documents, and a name for them."""

    called: str
    texts: tuple[tuple[str, ...], ...]

    @property
    def label(self) -> str:
        """Name, number and digest, in the form of a FigureBasis."""
        digest = hashlib.sha256(json.dumps(self.texts, ensure_ascii=False).encode()).hexdigest()
        return f"{self.called} ({len(self.texts):,} documents, sha256 {digest[:_DIGITS]})"


def references_by_image(corpus: str) -> tuple[dict[int, tuple[str, ...]], dict[int, int]]:
    """Return the captions of each image by row id, and the number of its captions marked as unrelated.

    Images are in the order of the corpus. Raises UnknownName.
    """
    images = corpus_named(corpus).images.filter(captions__isnull=False)
    rows = images.order_by("position", "captions__number")
    texts: dict[int, tuple[str, ...]] = {}
    unrelated: dict[int, int] = {}
    for pk, text, apart in rows.values_list("pk", "captions__text", "captions__unrelated").iterator(5_000):
        if apart:
            unrelated[pk] = unrelated.get(pk, 0) + 1
        else:
            texts[pk] = (*texts.get(pk, ()), text)
    return texts, unrelated


def subset_of_documents(corpus: str, split: str, documents: str = "", *, seed: int = 0) -> Subset | None:
    """Return the images whose references are CIDEr's documents; None for the whole corpus.

    `documents` names them like `--split`; without it they are those of `split` if that is a split of the
    corpus, and the whole corpus for a fold, a file of names or the images of a run. Raises as `subset_named`.
    """
    named = documents or (split if split in split_names(corpus_named(corpus)) else "")
    return subset_named(corpus, named, seed=seed)


def documents_of(corpus: str, subset: Subset | None, references: dict[int, tuple[str, ...]]) -> Documents:
    """Return the documents of a part of a corpus: one for each image that has references."""
    called = f"corpus {corpus}" + (f", {subset.called}" if subset else "")
    images: Iterable[int] = references if subset is None else (pk for pk in references if pk in subset.images)
    return Documents(called, tuple(references[pk] for pk in images))


#: Measures with their own tokenisation.
_OF_CONTENT_WORDS = frozenset({"ROUGE-1", "BLEU_pre"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionScoring:
    """How captions are scored: the measures, the tokenisation (`CUTS`), how intervals are computed, and the
    rounds of the test of differences."""

    measures: Sequence[str]
    tokens: str = DEFAULT_CUT
    resampling: Resampling = field(default_factory=Resampling)
    rounds: int = ROUNDS


def caption_figures(
    texts: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    images: Sequence[str],
    documents: Documents,
    how: CaptionScoring,
) -> tuple[dict[str, list[dict[str, Any]]], list[dict[str, Any]]]:
    """Return the figures of each set of `texts` by name, and the differences of the other sets from the
    first.

    Item k of every set has `references[k]` and belongs to `images[k]`. Both lists are plain data, with one
    measure per entry (`phrasebox.significance.sums`). Raises as `score_captions` does.
    """
    scores = {
        name: score_captions(
            Captions(captions_of_set, references, tokens=how.tokens, documents=documents.texts), how.measures
        )
        for name, captions_of_set in texts.items()
    }
    summed = [
        SummedFigure(
            measure,
            {name: of_set[measure].sums.added for name, of_set in scores.items()},
            score.sums.figure,
            images,
        )
        for measure, score in next(iter(scores.values())).items()
    ]
    return set_figures(summed, how.resampling), set_differences(summed, how.resampling, how.rounds)


def notes_on_cuts(measures: Iterable[str]) -> tuple[str, ...]:
    """Return remarks on measures that do not use the basis's tokens; raises UnknownMeasure."""
    names = [METRICS.find(measure, family=FAMILY).name for measure in measures]
    apart = [name for name in names if name in _OF_CONTENT_WORDS]
    return (f"{' and '.join(apart)}: stems of content words, whatever the tokens.",) if apart else ()


def tables_of_captions(report: dict[str, Any]) -> dict[str, Table]:
    """Return a report's figures as a table with a row for each measure and set, and its differences if there
    are any.

    Figures of regions are followed by those of people.
    """
    basis, first = basis_from_dict(report["basis"]), report["baseline"]
    people = {measured["measure"]: measured["value"] for measured in report.get("people", ())}
    keys = ("value", "low", "high", "items")
    by_measure = zip(*(measured["measures"] for measured in report["sets"]), strict=True)
    rows = [
        [
            *(measured["measure"], scored_set["set"], *(measured[key] for key in keys)),
            *([people.get(measured["measure"])] if "people" in report else []),
            measured["reason"],
        ]
        for row in by_measure
        for scored_set, measured in zip(report["sets"], row, strict=True)
    ]
    places = dict.fromkeys(("value", "low", "high", "people"), 4)
    beside = ["people"] if "people" in report else []
    head = ["measure", "captions", "value", "low", "high", basis.cases, *beside, "remark"]
    tables = {"Figures": Table(head, rows, places, basis=basis)}
    if report["differences"]:
        tables[f"Differences from {first}"] = table_of_differences(report["differences"], basis)
    return tables
