"""Precision at levels of recall: interpolated precision, and its mean over eleven levels.

The interpolated precision at a level of recall is the highest precision at that level or a higher one. As in
trec_eval, a level r of R relevant items is reached at the floor(r R + 0.9)th of them, and a level that a
ranking does not reach has precision 0. Source: Manning, Raghavan and Schütze 2008, section 8.4; trec_eval
(iprec_at_recall, 11pt_avg).

The relevant items are at places 1 and 4: precision 1 up to half of them, 0.5 beyond.

>>> from phrasebox.metrics.judgments import judged
>>> from phrasebox.metrics.ranked import from_scores
>>> ranked = from_scores([[0.9, 0.8, 0.7, 0.6]], judged([0, 0], [0, 3], [1, 1], queries=1, items=4))
>>> interpolated_precision(ranked, 0.5).tolist(), interpolated_precision(ranked, 1).tolist()
([1.0], [0.5])
>>> eleven_point_average(ranked).round(3).tolist()  # 1 at 0 to 0.5, 0.5 at 0.6 to 1
[0.773]
"""

import numpy as np

from phrasebox.metrics.ranked import QueryValues, Ranked
from phrasebox.metrics.sums import number_of
from phrasebox.metrics.table import add_measure

#: The levels of the eleven-point average.
LEVELS = tuple(level / 10 for level in range(11))
#: What trec_eval adds before it cuts a number of relevant items to a whole number.
_ALMOST = 0.9


def interpolated_precision(ranked: Ranked, recall: float) -> QueryValues:
    """Return the highest precision at a recall of `recall` (0 to 1) or more; shape (queries,)."""
    places = ranked.places(ranked.relevant)
    number = number_of(ranked, ranked.relevant).astype(np.intp)
    needed = np.maximum(np.floor(recall * number + _ALMOST).astype(np.intp), 1)
    result = np.zeros(len(number))
    some = number > 0
    if not some.any():
        return result
    ends = np.cumsum(number)[some]
    starts = ends - number[some] + needed[some] - 1
    # The highest of each query's places from `starts` to `ends`, whose neighbours are between two queries.
    precision = np.append(places.order / places.rank, 0.0)
    result[some] = np.maximum.reduceat(precision, np.stack([starts, ends], axis=1).ravel())[::2]
    return result


def eleven_point_average(ranked: Ranked, k: int | None = None) -> QueryValues:
    """Return the mean of the interpolated precisions at recall 0, 0.1 ... 1; shape (queries,)."""
    return np.mean([interpolated_precision(ranked, level) for level in LEVELS], axis=0)


add_measure(
    "iprec@r",
    "highest precision at a recall of r or more",
    "ranking",
    interpolated_precision,
    "trec_eval",
    cut_off="recall",
    aliases=("iprec_at_recall",),
    trec_name="iprec_at_recall#",
)
add_measure(
    "11pt",
    "mean of the interpolated precisions at recall 0, 0.1 ... 1",
    "ranking",
    eleven_point_average,
    "trec_eval",
    aliases=("11pt_avg",),
    trec_name="11pt_avg",
)
