"""Agreement of judges, and aggregation of several answers.

`cohen`, `fleiss` and `krippendorff` return an `Estimate`: a value, or the reason why there is none, with an
interval if a `Bootstrap` defines the clusters. `sweep` and `retrieval` compare two sets of scores cut at
thresholds. `majority` and `dawid_skene` aggregate `Votes`. Conventions: docs/agreement.md.

>>> round(krippendorff([[1, 2, 3, 3], [1, 2, 3, 4]], level="ordinal").value, 3)  # raters by items
0.91
>>> cohen([1, 1, 1], [1, 1, 1]).reason
'both raters answered 1 throughout'
"""

from phrasebox.agreement.aggregation import (
    DawidSkene,
    Majority,
    Votes,
    dawid_skene,
    majority,
    worker_confusion,
)
from phrasebox.agreement.coefficients import answer_counts, as_ratings, cohen, fleiss, krippendorff
from phrasebox.agreement.estimates import AgreementError, Bootstrap, Estimate
from phrasebox.agreement.thresholds import Retrieval, Sweep, retrieval, sweep

__all__ = [
    "AgreementError",
    "Bootstrap",
    "DawidSkene",
    "Estimate",
    "Majority",
    "Retrieval",
    "Sweep",
    "Votes",
    "answer_counts",
    "as_ratings",
    "cohen",
    "dawid_skene",
    "fleiss",
    "krippendorff",
    "majority",
    "retrieval",
    "sweep",
    "worker_confusion",
]
