"""The conventions that reproduce the printed figures, and the alternatives that were tried.

One `Conventions` is used for all cells. Each alternative changes one of its fields; the second table of the
report shows the effect on each family of cells.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from phrasebox.relevance.qrels import HALF, MAJORITY, TWO_THIRDS, QrelsSettings, RelevanceRule

UnjudgedConvention = Literal["irrelevant", "left out", "originals relevant"]


@dataclass(frozen=True, slots=True)
class Conventions:
    """What the paper does not report, as determined by the real data.

    Text: BLEU uses the words as written; ROUGE and BLEU_pre use content words (without `stop_words`,
    `stemmed`), unless `bleu_of_content`; `lemmatised` uses the authors' lemmatised captions for content
    words. References: R1(other) is the caption numbered `other_reference`. Comparisons are >=; `strict` makes
    them >. `header` is the threshold of the column of Table 8 with the heading "BLEU >= 0.6" for R1(gold).
    Pairs that the crowd did not judge: `unjudged_in_kappa` for Table 10(a), which then covers all pairs of
    the experts, `unjudged_in_precision` for (b). Qrels: `rule`, and whether originals are relevant unjudged
    (`originals`). `tau`: Kendall's tau-b or tau-c, which count ties differently.
    """

    stop_words: bool = True
    stemmed: bool = True
    lemmatised: bool = False
    bleu_of_content: bool = False
    other_reference: int = 3
    strict: bool = False
    header: float = 0.7
    unjudged_in_kappa: UnjudgedConvention = "irrelevant"
    unjudged_in_precision: UnjudgedConvention = "left out"
    rule: RelevanceRule = HALF
    originals: bool = True
    tau: Literal["b", "c"] = "b"

    @property
    def qrels(self) -> QrelsSettings:
        """Return the settings of qrels under these conventions."""
        return QrelsSettings(rule=self.rule, originals=self.originals)

    def described(self) -> str:
        """Return one sentence for readers of the tables."""
        content = "lemmatised" if self.lemmatised else "as written"
        stemmed = "Porter-stemmed" if self.stemmed else "unstemmed"
        stop_words = "without the 127 stop words" if self.stop_words else "with all words"
        return (
            f"BLEU of {'content words' if self.bleu_of_content else 'words'}; ROUGE and BLEU_pre of captions "
            f"{content}, {stop_words}, {stemmed}; R1(other) is caption #{self.other_reference}; comparisons "
            f"{'>' if self.strict else '>='}; Table 8 headed 0.6 computed at {self.header:g}; unjudged pairs "
            f"{self.unjudged_in_kappa} in Table 10(a), {self.unjudged_in_precision} in 10(b); relevant: "
            f"{self.qrels.described()}; tau-{self.tau}."
        )


CHOSEN_CONVENTIONS = Conventions()

#: Alternatives that were tried, with one field changed each.
ALTERNATIVES: Mapping[str, Conventions] = {
    "no stop list": replace(CHOSEN_CONVENTIONS, stop_words=False),
    "no stemming": replace(CHOSEN_CONVENTIONS, stemmed=False),
    "lemmatised captions": replace(CHOSEN_CONVENTIONS, lemmatised=True),
    "BLEU of content words": replace(CHOSEN_CONVENTIONS, bleu_of_content=True),
    "R1(other) is caption #0": replace(CHOSEN_CONVENTIONS, other_reference=0),
    "R1(other) is caption #1": replace(CHOSEN_CONVENTIONS, other_reference=1),
    "R1(other) is caption #4": replace(CHOSEN_CONVENTIONS, other_reference=4),
    "strict comparisons (>)": replace(CHOSEN_CONVENTIONS, strict=True),
    "Table 8: BLEU at 0.6 as headed": replace(CHOSEN_CONVENTIONS, header=0.6),
    "10(a): unjudged left out": replace(CHOSEN_CONVENTIONS, unjudged_in_kappa="left out"),
    "10(a): unjudged originals relevant": replace(CHOSEN_CONVENTIONS, unjudged_in_kappa="originals relevant"),
    "10(b): unjudged irrelevant": replace(CHOSEN_CONVENTIONS, unjudged_in_precision="irrelevant"),
    "10(b): unjudged originals relevant": replace(
        CHOSEN_CONVENTIONS, unjudged_in_precision="originals relevant"
    ),
    "relevant: more yes than no": replace(CHOSEN_CONVENTIONS, rule=MAJORITY),
    "relevant: two thirds": replace(CHOSEN_CONVENTIONS, rule=TWO_THIRDS),
    "originals as judged": replace(CHOSEN_CONVENTIONS, originals=False),
    "tau-c": replace(CHOSEN_CONVENTIONS, tau="c"),
}
