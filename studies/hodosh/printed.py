"""The figures that Hodosh et al. 2013 print: Tables 2 (one row), 7, 8, 9, 10 and figures in the text.

Nothing here is computed. Systems' scores (Tables 11 and 12) are in `printed_systems`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Block:
    """Half of Table 8 or 9: kappa of experts against BLEU and ROUGE for one set of references.

    `references` is R5, R1(gold), R4 or R1(other). Each line of `kappas` belongs to a threshold of
    EXPERT: three for BLEU, three for ROUGE.
    """

    table: str
    references: str
    bleu: tuple[float, float, float]
    rouge: tuple[float, float, float]
    kappas: tuple[tuple[float, ...], ...]


#: The experts' mean grade, printed cut off: 3.6 stands for eleven thirds. The first is "= 4.0".
EXPERT = (4.0, 3.6, 3.3, 3.0, 2.6)

BLOCKS = (
    _Block(
        "Table 8",
        "R5",
        (0.9, 0.8, 0.7),
        (0.4, 0.3, 0.2),
        (
            (0.72, 0.70, 0.59, 0.54, 0.47, 0.29),
            (0.71, 0.72, 0.61, 0.54, 0.50, 0.33),
            (0.64, 0.67, 0.63, 0.50, 0.50, 0.37),
            (0.45, 0.54, 0.57, 0.45, 0.54, 0.49),
            (0.35, 0.45, 0.51, 0.38, 0.51, 0.53),
        ),
    ),
    _Block(
        "Table 8",
        "R1(gold)",
        (0.8, 0.6, 0.5),
        (0.9, 0.7, 0.3),
        (
            (0.71, 0.70, 0.52, 0.69, 0.67, 0.35),
            (0.68, 0.68, 0.56, 0.65, 0.64, 0.39),
            (0.60, 0.59, 0.56, 0.57, 0.56, 0.40),
            (0.41, 0.42, 0.48, 0.39, 0.40, 0.45),
            (0.32, 0.32, 0.42, 0.30, 0.32, 0.43),
        ),
    ),
    _Block(
        "Table 9",
        "R4",
        (0.7, 0.6, 0.5),
        (0.4, 0.3, 0.2),
        (
            (0.50, 0.40, 0.23, 0.44, 0.40, 0.26),
            (0.51, 0.43, 0.28, 0.43, 0.43, 0.30),
            (0.52, 0.46, 0.32, 0.40, 0.44, 0.34),
            (0.47, 0.48, 0.41, 0.39, 0.50, 0.47),
            (0.41, 0.47, 0.44, 0.33, 0.48, 0.51),
        ),
    ),
    _Block(
        "Table 9",
        "R1(other)",
        (0.5, 0.4, 0.3),
        (0.4, 0.3, 0.2),
        (
            (0.33, 0.27, 0.16, 0.33, 0.30, 0.18),
            (0.34, 0.29, 0.19, 0.34, 0.32, 0.21),
            (0.34, 0.32, 0.22, 0.35, 0.35, 0.24),
            (0.32, 0.36, 0.29, 0.39, 0.42, 0.34),
            (0.30, 0.35, 0.31, 0.37, 0.41, 0.38),
        ),
    ),
)

#: The header of Table 8 that does not belong to its column: (references, printed threshold).
MISPRINTED_HEADER = ("R1(gold)", 0.6)

#: Table 10(a): kappa of experts (rows, EXPERT) against lay judges. The first column is "= 1.0".
LAY = (1.0, 0.6, 0.3)
TABLE_10A = (
    (0.75, 0.69, 0.49),
    (0.78, 0.76, 0.57),
    (0.74, 0.79, 0.65),
    (0.56, 0.71, 0.74),
    (0.45, 0.62, 0.73),
)

#: Table 10(b): precision, recall and F1 in per cent of lay judges at 0.66.
LAY_RELEVANT = 0.66
EXPERT_10B = (*EXPERT, 2.3)
TABLE_10B = (
    (55.9, 98.6, 71.4),
    (65.4, 95.0, 77.5),
    (75.2, 88.0, 81.1),
    (90.0, 64.7, 75.3),
    (94.7, 53.4, 68.3),
    (98.2, 40.1, 57.0),
)

#: Table 7: (rho, tau) for annotation, then for search; (a) S@k against R@k, (b) R-precision against each.
TABLE_7A = {
    "@1": (0.86, 0.69, 0.97, 0.87),
    "@5": (0.92, 0.76, 0.97, 0.88),
    "@10": (0.96, 0.82, 0.97, 0.87),
}
TABLE_7B = {
    "R@1": (0.85, 0.68, 0.94, 0.83),
    "R@5": (0.93, 0.78, 0.96, 0.87),
    "R@10": (0.94, 0.79, 0.97, 0.89),
    "Median rank": (-0.92, -0.79, -0.97, -0.89),
}

#: Table 2, "Random": mean expert grade, BLEU, ROUGE of the first caption.
PRINTED_RANDOM = {"Expert": 1.22, "BLEU": 0.31, "ROUGE": 0.04}

#: Section 3.5.3: words that the training captions hold five times or more.
VOCABULARY = 1_928

#: Section 4.2.1; the level of measurement is not named.
ALPHA = 0.81

#: Section 4.2.2: per cent of all pairs that share a word, and two words in a row, with five references.
NONZERO = {"BLEU-1": 39.4, "BLEU-2": 3.5}


@dataclass(frozen=True, slots=True)
class BestKappa:
    """Section 4.2.2: the best agreement of a measure with experts, and where it is reached."""

    references: str
    measure: str
    threshold: float
    expert: float
    kappa: float


BEST_KAPPAS = (
    BestKappa("R5", "BLEU", 1.0, 4.0, 0.72),
    BestKappa("R5", "BLEU", 0.8, 3.6, 0.72),
    BestKappa("R5", "ROUGE", 0.4, 4.0, 0.54),
    BestKappa("R5", "ROUGE", 0.4, 3.6, 0.54),
    BestKappa("R5", "ROUGE", 0.3, 3.0, 0.54),
    BestKappa("R1(gold)", "BLEU", 0.8, 4.0, 0.71),
    BestKappa("R1(gold)", "ROUGE", 0.9, 4.0, 0.69),
    BestKappa("R4", "BLEU", 0.7, 3.3, 0.52),
    BestKappa("R4", "ROUGE", 0.2, 2.6, 0.51),
    # Of R1(other) the text gives the figures alone; Table 9 says where they are reached.
    BestKappa("R1(other)", "BLEU", 0.4, 3.0, 0.36),
    BestKappa("R1(other)", "ROUGE", 0.3, 3.0, 0.42),
)


@dataclass(frozen=True, slots=True)
class _Filter:
    """Section 4.3.2: what a cut of BLEU (`preprocessed`: of BLEU_pre) removes, in per cent.

    `removed` of all pairs, `lost_good` of those with an expert grade of 2 2/3 or more, `lost_better`
    (not printed for the second kind) of those with 3 or more. The printed 0.333 keeps what is
    above a third, 0.330 what is at least that.
    """

    name: str
    preprocessed: bool
    threshold: float
    removed: float
    lost_good: float
    lost_better: float | None = None
    above: bool = False


GOOD, BETTER = 2.6, 3.0
PRINTED_FILTERS = (
    _Filter("BLEU_pre >= 0.25", True, 0.25, 86.0, 6.7, 3.5),
    _Filter("BLEU_pre >= 0.26", True, 0.26, 90.4, 12.3, 7.5),
    _Filter("BLEU >= 0.330", False, 0.33, 55.0, 6.9),
    _Filter("BLEU >= 0.333", False, 1 / 3, 65.0, 11.9, above=True),
)

#: Section 4.3.2, the pairs that were wanted and judged.
TARGET_PAIRS = 113_006
TARGET_REMOVED = 72.8
TARGET_REMAINING = 30_781
REMOVED_YET_JUDGED = 10_374
REMOVED_ALL_NO = 98.3
REMOVED_MOST_NO = 99.8

#: Section 4.3.2, in the text: kappa at lay 0.66 and expert 3.33, recall of 4.0 and 3.7, precision at 2.7.
BEST_LAY_KAPPA = 0.79
RECALL_PERFECT, RECALL_ALMOST, PRECISION_GOOD = 98.6, 95.0, 94.7

#: Section 4.3.2: relevant pairs besides the originals; captions and images with 1, 2, 3, 4 or more.
ADDED = 2_031
CAPTIONS_WITH = (446, 202, 100, 252)
IMAGES_WITH = (331, 202, 100, 317)
#: How many captions the images of two figures of IMAGES_WITH have: 202 and 100 stand there for the captions
#: too, and the four make 950 of 1,000 images. What was meant is not printed.
MISPRINTED_IMAGES_WITH = (2, 3)
