"""Scores of predicted mentions against marked ones: spans by exact match, categories on matched spans.

A predicted span is right if a marked span of the same caption has the same first and last word; precision,
recall and F1 are over all captions together (as CoNLL-2000 scores chunks). Marked spans of chain 0 ("not
visual") are excluded, and with them every predicted span within one: finding such a phrase is neither right
nor wrong.

Unmatched spans are counted as `missed` (marked, no predicted span overlaps it), `spurious` (predicted,
overlaps no marked span) and `boundary` (the two overlap with different edges).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from annotation.protocol.terms import NOT_VISUAL, LayerRecord, Mention

MISSED, SPURIOUS, BOUNDARY = "missed", "spurious", "boundary"


@dataclass(slots=True)
class MentionScores:
    """Counts over captions; add images up with `+=` (`__iadd__`), read the shares at the end.

    `errors` counts phrases by kind of error, in lower case; a boundary error has the form "predicted ->
    marked". `agreed` and `compared` count matched spans by marked category.
    """

    gold: int = 0
    predicted: int = 0
    matched: int = 0
    same_categories: int = 0
    agreed: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    errors: dict[str, Counter[str]] = field(
        default_factory=lambda: {kind: Counter() for kind in (MISSED, SPURIOUS, BOUNDARY)}
    )

    def __iadd__(self, other: MentionScores) -> MentionScores:
        self.gold += other.gold
        self.predicted += other.predicted
        self.matched += other.matched
        self.same_categories += other.same_categories
        self.agreed += other.agreed
        self.compared += other.compared
        for kind, phrases in other.errors.items():
            self.errors[kind] += phrases
        return self

    @property
    def precision(self) -> float:
        """Share of the predicted phrases that are marked; 0 if none was predicted."""
        return self.matched / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the marked phrases that were predicted; 0 if none is marked."""
        return self.matched / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, 0 if nothing matches."""
        return span_f1(self.gold, self.predicted, self.matched)

    @property
    def category_agreement(self) -> float:
        """Share of matched spans with the same set of categories."""
        return self.same_categories / self.matched if self.matched else 0.0


def span_f1(gold: int, marked: int, matched: int) -> float:
    """Return F1 of `matched` spans among `marked` and `gold`; 0 if nothing matches."""
    return 2 * matched / (gold + marked) if matched else 0.0


def score_mentions(mentions: Iterable[Mention], layer: LayerRecord) -> MentionScores:
    """Return the scores of one image's predicted mentions against those marked in its `layer`."""
    hidden = [m for chain in layer.chains if chain.id == NOT_VISUAL for m in chain.mentions]
    gold = {m.span: m for chain in layer.chains if chain.id != NOT_VISUAL for m in chain.mentions}
    by_span = {m.span: m for m in mentions if m.span in gold or not any(_covers(h, m) for h in hidden)}
    scores = MentionScores(gold=len(gold), predicted=len(by_span))
    for span in gold.keys() & by_span.keys():
        scores.matched += 1
        marked, predicted = set(gold[span].categories), set(by_span[span].categories)
        scores.same_categories += marked == predicted
        scores.compared.update(marked)
        scores.agreed.update(marked & predicted)
    _count_errors(
        [gold[span] for span in sorted(gold.keys() - by_span.keys())],
        [by_span[span] for span in sorted(by_span.keys() - gold.keys())],
        scores,
    )
    return scores


def _count_errors(unfound: Sequence[Mention], spurious: Sequence[Mention], scores: MentionScores) -> None:
    """Count the unmatched mentions on either side by kind of error."""
    for mention in spurious:
        touched = [m for m in unfound if _overlap(m, mention)]
        if touched:
            marked = " | ".join(m.text.lower() for m in touched)
            scores.errors[BOUNDARY][f"{mention.text.lower()} -> {marked}"] += 1
        else:
            scores.errors[SPURIOUS][mention.text.lower()] += 1
    for mention in unfound:
        if not any(_overlap(mention, m) for m in spurious):
            scores.errors[MISSED][mention.text.lower()] += 1


def _overlap(a: Mention, b: Mention) -> bool:
    return a.caption == b.caption and a.start < b.end and b.start < a.end


def _covers(outer: Mention, inner: Mention) -> bool:
    return outer.caption == inner.caption and outer.start <= inner.start and inner.end <= outer.end
