"""Conventions for figures: how tied items of a run are ranked.

By default they share the mean of their ranks, as `phrasebox.metrics.ranked` defines it. trec_eval sorts them
by falling id; all other conventions of trec_eval hold in any case (scores in single precision, 0 for a query
without a relevant item). Whether queries that a run does not rank count (its option -c) is `missing`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from django.utils.translation import gettext_lazy as _
from numpy.typing import NDArray

from evaluation.comparison.ranked_runs import Ordered, Reorder
from evaluation.models import Run
from evaluation.selectors import names_of

MEAN_RANKS, TREC_EVAL = "mean-ranks", "trec_eval"
_TITLES: Mapping[str, Any] = {
    MEAN_RANKS: _("share the mean of their ranks"),
    TREC_EVAL: _("in falling order of their ids, as in trec_eval"),
}


def convention_choices() -> Mapping[str, Any]:
    """Return the conventions, with their titles."""
    return _TITLES


def ties_in_figures(convention: str) -> str:
    """Return how tied items are ranked, for the basis of figures; "" for the default."""
    return "" if convention == MEAN_RANKS else "in falling order of ids (trec_eval)"


def reorder_for(run: Run, convention: str) -> Reorder | None:
    """Return what sorts the run's tied items; None if they stay tied."""
    if convention == MEAN_RANKS:
        return None
    names = names_of(run.corpus.name)
    return falling_ids(names.caption_name if run.direction == Run.ANNOTATION else names.image_name)


def falling_ids(names: Mapping[int, str]) -> Callable[[NDArray[np.int64], NDArray[np.float32]], Ordered]:
    """Return a function that sorts tied items by decreasing name, as trec_eval does."""
    falling = {pk: index for index, pk in enumerate(sorted(names, key=names.__getitem__, reverse=True))}

    def reorder(items: NDArray[np.int64], scores: NDArray[np.float32]) -> Ordered:
        places = np.array([falling[item] for item in items.tolist()], dtype=np.int64)
        order = np.lexsort((places, -scores))
        return in_order(items[order], scores)

    return reorder


def in_order(items: NDArray[np.int64], scores: NDArray[np.float32]) -> Ordered:
    """Return the items in their order, none of them tied."""
    return items, -np.arange(len(items), dtype=np.float32)
