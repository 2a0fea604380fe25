"""Figures of sets of captions against the same references, and their differences from those of the first."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from annotation.selectors.corpora import corpus_named, split_names
from evaluation.comparison.subsets import Subset, subset_named
from evaluation.formats.figure_basis import basis_from_dict
from evaluation.formats.figure_tables import Table
from phrasebox.agreement.estimates import Bootstrap
from phrasebox.agreement.summary import Resampling
from phrasebox.metrics.captions import DEFAULT_CUT, FAMILY, Captions, CaptionScore, score_captions
from phrasebox.metrics.table import METRICS
from phrasebox.significance.captions import NO_COUNTS, caption_difference, caption_interval
from phrasebox.significance.tables import holm

#: Digits of the digest that a label shows.
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Documents:
    """Texts of documents, and what they are called."""

    called: str
    texts: tuple[tuple[str, ...], ...]

    @property
    def label(self) -> str:
        """Name, number and digest, as a FigureBasis has them."""
        digest = hashlib.sha256(json.dumps(self.texts, ensure_ascii=False).encode()).hexdigest()
        return f"{self.called} ({len(self.texts):,} documents, sha256 {digest[:_DIGITS]})"


def references_by_image(corpus: str) -> tuple[dict[int, tuple[str, ...]], dict[int, int]]:
    """The captions of each image by the id of its row, and how many that are unrelated it has besides.

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
    """The images whose references are CIDEr's documents; None for the whole corpus.

    `documents` names them as `--split` does; without it they are those of `split` where that is a split of
    the corpus, and all for a fold, a file of names or the images of a run. Raises as `subset_named`.
    """
    named = documents or (split if split in split_names(corpus_named(corpus)) else "")
    return subset_named(corpus, named, seed=seed)


def documents_of(corpus: str, subset: Subset | None, references: dict[int, tuple[str, ...]]) -> Documents:
    """The documents of a part of a corpus: one for each image that has references."""
    called = f"corpus {corpus}" + (f", {subset.called}" if subset else "")
    images: Iterable[int] = references if subset is None else (pk for pk in references if pk in subset.images)
    return Documents(called, tuple(references[pk] for pk in images))


#: Measures that have a cut of their own.
_OF_CONTENT_WORDS = frozenset({"ROUGE-1", "BLEU_pre"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionScoring:
    """How captions are scored: by which measures, how texts are cut (`CUTS`), how intervals are drawn."""

    measures: Sequence[str]
    tokens: str = DEFAULT_CUT
    resampling: Resampling = field(default_factory=Resampling)


def caption_figures(
    texts: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    images: Sequence[str],
    documents: Documents,
    how: CaptionScoring,
) -> tuple[dict[str, list[dict[str, Any]]], list[dict[str, Any]]]:
    """The figures of each set of `texts` by its name, and the differences of the others from the first.

    Item k of every set has `references[k]` and is of `images[k]`. Both lists are plain data, a measure in
    each entry. A difference is a set's figure less the first set's, over the resamples of their intervals,
    with p, which `adjusted` corrects by Holm for all that were tested. Raises as `score_captions` does.
    """
    bootstrap = how.resampling.over(images)
    scores = {
        name: score_captions(
            Captions(captions_of_set, references, tokens=how.tokens, documents=documents.texts), how.measures
        )
        for name, captions_of_set in texts.items()
    }
    figures = {
        name: [
            {"measure": measure, **asdict(caption_interval(score, bootstrap))}
            for measure, score in captions_of_set.items()
        ]
        for name, captions_of_set in scores.items()
    }
    return figures, _differences(scores, bootstrap)


def _differences(
    scores: Mapping[str, Mapping[str, CaptionScore]], bootstrap: Bootstrap | None
) -> list[dict[str, Any]]:
    (_, base), *others = scores.items()
    rows: list[dict[str, Any]] = []
    for measure, first in base.items():
        for name, scores_of_set in others:
            row = {
                "measure": measure,
                "captions": name,
                "difference": scores_of_set[measure].value - first.value,
            }
            test = caption_difference(scores_of_set[measure], first, bootstrap)
            if test is None:
                remark = "" if bootstrap is None else NO_COUNTS
                rows.append({**row, "low": None, "high": None, "p": None, "remark": remark})
            else:
                rows.append({**row, "low": test.low, "high": test.high, "p": test.p, "remark": test.remark})
    adjusted = holm([np.nan if row["p"] is None else row["p"] for row in rows])
    return [
        {**row, "adjusted": None if row["p"] is None else float(p)}
        for row, p in zip(rows, adjusted, strict=True)
    ]


def notes_on_cuts(measures: Iterable[str]) -> tuple[str, ...]:
    """What must be said of measures that are not given the tokens of a basis; raises UnknownMeasure."""
    names = [METRICS.find(measure, family=FAMILY).name for measure in measures]
    apart = [name for name in names if name in _OF_CONTENT_WORDS]
    return (f"{' and '.join(apart)}: stems of content words, whatever the tokens.",) if apart else ()


def tables_of_captions(report: dict[str, Any]) -> dict[str, Table]:
    """The figures of a report, a row for each measure and set, and its differences if there are any.

    Beside the figures of regions stand those of people.
    """
    basis, first = basis_from_dict(report["basis"]), report["sets"][0]["captions"]
    people = {measured["measure"]: measured["value"] for measured in report.get("people", ())}
    keys = ("value", "low", "high", "items")
    by_measure = zip(*(measured["measures"] for measured in report["sets"]), strict=True)
    rows = [
        [
            *(measured["measure"], scored_set["captions"], *(measured[key] for key in keys)),
            *([people.get(measured["measure"])] if "people" in report else []),
            measured["reason"],
        ]
        for row in by_measure
        for scored_set, measured in zip(report["sets"], row, strict=True)
    ]
    places = dict.fromkeys(("value", "low", "high", "people", "difference", "p", "adjusted"), 4)
    beside = ["people"] if "people" in report else []
    head = ["measure", "captions", "value", "low", "high", basis.cases, *beside, "remark"]
    tables = {"Figures": Table(head, rows, places, basis=basis)}
    if report["differences"]:
        head = ["measure", "captions", "difference", "low", "high", "p", "adjusted", "remark"]
        tables[f"Differences from {first}"] = Table(
            head, [[measured[key] for key in head] for measured in report["differences"]], places, basis=basis
        )
    return tables


def remarks_on_intervals(report: dict[str, Any]) -> list[str]:
    """How the intervals of a report were drawn, and what its differences are."""
    lines = []
    if report["resamples"]:
        lines.append(
            f"Intervals of {100 * report['level']:g}%: {report['resamples']:,} resamples of whole images, "
            f"seed {report['seed']}."
        )
    tested = sum(difference["p"] is not None for difference in report["differences"])
    if tested:
        lines.append(
            f"Differences: less the figure of {report['sets'][0]['captions']}, both of the same resamples; "
            f"p is adjusted by Holm for {tested} tests."
        )
    return lines
