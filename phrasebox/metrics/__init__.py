"""Scores of rankings of images and captions, from arrays, tiles, embeddings or lists.

Build the judgments (`originals_of`, `judged`, `from_qrels`), build the ranking (`from_scores`, `from_lists`,
`from_tiles`), and call `evaluate`. `both_directions` does all three by one of the papers' `PROTOCOLS`, for
embeddings too (`Products`). `score_captions` scores written captions. Definitions and the handling of ties:
docs/metrics.md. Importing the package fills METRICS.

>>> scores = [[0.9, 0.1, 0.3], [0.8, 0.2, 0.7]]  # two images by three captions, the last the second's
>>> ranked = from_scores(scores, originals_of([0, 0, 1], queries=2))
>>> figures = evaluate(ranked, ["R@1", "median rank"])
>>> figures["R@1"].value, figures["R@1"].per_query.tolist(), figures["median rank"].value
(0.5, [1.0, 0.0], 1.5)
"""

from phrasebox.metrics import captions, graded, incomplete, localization, ranking, recall_levels, tagging
from phrasebox.metrics.captions import Captions, CaptionScore, score_captions
from phrasebox.metrics.judgments import BadJudgments, Judged, from_qrels, judged, originals_of
from phrasebox.metrics.protocols import PROTOCOLS, Selection, both_directions, over_folds, select
from phrasebox.metrics.ranked import Ranked, from_lists, from_scores, from_tiles
from phrasebox.metrics.scoring import Score, evaluate
from phrasebox.metrics.table import METRICS, UnknownMeasure
from phrasebox.scoring.ranking import Best, borda, ranks, top_k
from phrasebox.scoring.tiles import Dense, NotANumber, Products, Scores

__all__ = [
    "METRICS",
    "PROTOCOLS",
    "BadJudgments",
    "Best",
    "CaptionScore",
    "Captions",
    "Dense",
    "Judged",
    "NotANumber",
    "Products",
    "Ranked",
    "Score",
    "Scores",
    "Selection",
    "UnknownMeasure",
    "borda",
    "both_directions",
    "evaluate",
    "from_lists",
    "from_qrels",
    "from_scores",
    "from_tiles",
    "judged",
    "originals_of",
    "over_folds",
    "ranks",
    "score_captions",
    "select",
    "top_k",
]
