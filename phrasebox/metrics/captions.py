"""Scores of written captions against references: the captioning measures of METRICS.

BLEU-1 to 4, ROUGE-L, CIDEr, CIDEr-D and METEOR use the same tokenisation (`CUTS`): that of the COCO
evaluation (`ptb`), which gives its figures, or ours (`own`), which splits hyphens and drops punctuation.
Figures of different tokenisations are not comparable. ROUGE-1 and BLEU_pre use `overlap.content_words`. What
COCO prints as "CIDEr" is CIDEr-D here.
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from phrasebox.metrics.captioning import Bleu, bleu, bleu_of, check_fit, cider, cider_d, rouge_l
from phrasebox.metrics.meteor import Meteor, meteor, meteor_of
from phrasebox.metrics.overlap import Overlap, content_words, words
from phrasebox.metrics.ptb import ptb_words
from phrasebox.metrics.table import METRICS, Measure, add_measure

FAMILY = "captioning"
#: Tokenisations by the name that figures carry.
CUTS: dict[str, Callable[[str], list[str]]] = {
    "ptb": ptb_words,
    "own": lambda text: words(unicodedata.normalize("NFC", text)),
}
DEFAULT_CUT = "ptb"

_Floats = NDArray[np.float64]
#: A figure of the corpus and its sums.
_Pooled: TypeAlias = "tuple[float, CorpusSums]"


class Captions:
    """One candidate text and one or more reference texts per item, tokenised and counted once for all
    measures.

    `tokens` is a key of CUTS. `documents` are those of CIDEr, a list of texts each; None: the references.
    Raises ValueError if candidates and references do not match, and for an unknown tokenisation.
    """

    def __init__(
        self,
        candidates: Sequence[str],
        references: Sequence[Sequence[str]],
        *,
        tokens: str = DEFAULT_CUT,
        documents: Sequence[Sequence[str]] | None = None,
    ) -> None:
        check_fit(candidates, references)
        if tokens not in CUTS:
            raise ValueError(f"unknown tokens {tokens!r}; known: {', '.join(CUTS)}")
        self.candidates = candidates
        self.references = references
        self.tokens = tokens
        self._documents = documents

    @cached_property
    def words(self) -> tuple[list[list[str]], list[list[list[str]]]]:
        """Candidates and references as words."""
        return _cut(CUTS[self.tokens], self.candidates, self.references)

    @cached_property
    def documents(self) -> list[list[list[str]]] | None:
        """The texts of each document as words; None: those of the references."""
        return None if self._documents is None else _cut(CUTS[self.tokens], (), self._documents)[1]

    @cached_property
    def bleu(self) -> Bleu:
        """The counts for BLEU-1 to 4, over words."""
        return bleu(*self.words)

    @cached_property
    def meteor(self) -> Meteor:
        """METEOR of the corpus and of each item; raises MeteorMissing and MeteorFailed."""
        candidates, references = self.words
        return meteor(
            [" ".join(text) for text in candidates],
            [[" ".join(text) for text in texts] for texts in references],
        )

    @cached_property
    def content(self) -> Overlap:
        """Candidates against references over content words."""
        return Overlap(*_cut(content_words, self.candidates, self.references))

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Each candidate is compared with its own item's references."""
        return np.arange(len(self.candidates))


@dataclass(frozen=True, slots=True)
class CorpusSums:
    """The parts of a corpus figure: `added` has what each item adds, shape (items, k).

    `figure` computes figures, shape (rows,), from summed items, shape (rows, k).
    """

    added: _Floats
    figure: Callable[[_Floats], _Floats]


@dataclass(frozen=True, slots=True)
class CaptionScore:
    """One measure of a set of captions: of the corpus, and of each item, shape (items,).

    `sums` are the parts of the corpus's figure.
    """

    measure: str
    value: float
    per_item: _Floats
    sums: CorpusSums


def score_captions(captions: Captions, measures: Iterable[str]) -> dict[str, CaptionScore]:
    """Return figures by canonical name, in the requested order; NaN without items.

    The corpus's figure is the mean over items, except for BLEU-1 to 4 and METEOR, whose counts are pooled.
    Raises UnknownMeasure listing what exists, and MeteorMissing if METEOR is requested and not installed.

    >>> captions = Captions(["A dog runs."], [["A dog runs.", "A cat sleeps."]])
    >>> {name: score.value for name, score in score_captions(captions, ["BLEU-1", "ROUGE-L"]).items()}
    {'BLEU-1': 1.0, 'ROUGE-L': 1.0}
    """
    scores = {}
    for requested in [METRICS.find(name, family=FAMILY) for name in measures]:
        values = requested.measure.values(captions)
        if requested.measure.summary == "corpus":
            value, sums = _POOLED[requested.measure.name](captions)
        else:
            value, sums = float(values.mean()) if len(values) else float("nan"), _mean_of(values)
        scores[requested.name] = CaptionScore(
            requested.name, value if len(values) else float("nan"), values, sums
        )
    return scores


def has_sums(measure: Measure) -> bool:
    """Whether a measure whose corpus figure is not a mean of its items has a corpus figure here."""
    return measure.name in _POOLED


def _mean_of(values: _Floats) -> CorpusSums:
    """Return a mean over items as a figure of sums."""
    return CorpusSums(np.stack([values, np.ones(len(values))], axis=1), lambda rows: rows[:, 0] / rows[:, 1])


def _cut(
    cut: Callable[[str], list[str]], candidates: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[list[list[str]], list[list[list[str]]]]:
    return [cut(text) for text in candidates], [[cut(text) for text in texts] for texts in references]


def _bleu_of(order: int) -> Callable[[Captions], _Floats]:
    return lambda captions: captions.bleu.items()[:, order - 1]


def _pooled_bleu(order: int) -> Callable[[Captions], _Pooled]:
    def pooled(captions: Captions) -> _Pooled:
        sums = CorpusSums(captions.bleu.added, lambda rows: bleu_of(rows)[:, order - 1])
        return float(captions.bleu.corpus()[order - 1]), sums

    return pooled


_BLEUS = tuple(f"BLEU-{order}" for order in range(1, 5))
#: The corpus figure of the measures whose summary is "corpus", and its sums.
_POOLED: dict[str, Callable[[Captions], _Pooled]] = {
    **{name: _pooled_bleu(order) for order, name in enumerate(_BLEUS, start=1)},
    "METEOR": lambda captions: (captions.meteor.corpus, CorpusSums(captions.meteor.statistics, meteor_of)),
}
_HODOSH = "Hodosh et al. 2013, section 4.2.2"

for _order, _name in enumerate(_BLEUS, start=1):
    add_measure(
        _name,
        f"clipped precision of n-grams of up to {_order} words, with brevity penalty",
        FAMILY,
        _bleu_of(_order),
        "Papineni et al. 2002",
        summary="corpus",
    )
add_measure(
    "ROUGE-1",
    "share of the references' content words found (eq. 28)",
    FAMILY,
    lambda captions: captions.content.recall(captions.places, captions.places),
    _HODOSH,
)
add_measure(
    "BLEU_pre",
    "share of the content words found in a reference (eq. 28 after ROUGE's preprocessing)",
    FAMILY,
    lambda captions: captions.content.precision(captions.places, captions.places),
    "Hodosh et al. 2013, section 4.3.2",
)
add_measure(
    "ROUGE-L",
    "F of the longest common subsequence, beta 1.2",
    FAMILY,
    lambda captions: rouge_l(*captions.words),
    "Lin 2004; COCO evaluation",
)
add_measure(
    "CIDEr",
    "mean cosine of tf-idf vectors of n-grams of up to 4 words",
    FAMILY,
    lambda captions: cider(*captions.words, documents=captions.documents),
    "Vedantam et al. 2015",
)
add_measure(
    "CIDEr-D",
    "CIDEr with clipping and a length penalty, 0 to 10 (what COCO reports as CIDEr)",
    FAMILY,
    lambda captions: cider_d(*captions.words, documents=captions.documents),
    "Vedantam et al. 2015",
    unit="score",
    bounds=(0.0, 10.0),
)
add_measure(
    "METEOR",
    "alignment by words, stems, synonyms and paraphrases (needs Java and METEOR 1.5)",
    FAMILY,
    lambda captions: captions.meteor.items,
    "Denkowski and Lavie 2014",
    summary="corpus",
)
