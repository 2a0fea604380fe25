"""Intervals of the scores of written captions, and of the difference of two systems: how much they would
change with other images.

Whole images are drawn, with replacement, as many as there are. A mean over images and a figure of added-up
counts (BLEU) are both functions of sums over images, so a resample is a row of multiplicities times what each
image adds (`agreement.estimates`). The weights of CIDEr stay those of all images that were scored: they say
how common a run of words is, and are not drawn again.
"""

import numpy as np

from phrasebox.agreement.estimates import Bootstrap, Estimate, clusters_of, estimate
from phrasebox.metrics.captions import CaptionScore
from phrasebox.significance.resampling import Difference, bootstrap_difference_of_sums

#: Remark on a figure whose counts we do not have.
NO_COUNTS = "no interval: its program does not tell the counts that it adds up"


def caption_interval(score: CaptionScore, bootstrap: Bootstrap | None) -> Estimate:
    """Return the corpus's figure with its interval; without one if there is no bootstrap or `score` has no
    sums.

    `bootstrap.clusters` has the image of each item. Raises AgreementError if their numbers differ.
    """
    items = len(score.per_item)
    if not items:
        return Estimate(None, 0, "no image was scored")
    if score.sums is None:
        return Estimate(score.value, items, "" if bootstrap is None else NO_COUNTS)
    owners, clusters = clusters_of(bootstrap, items)
    sums = np.zeros((clusters, score.sums.added.shape[1]))
    np.add.at(sums, owners, score.sums.added)
    return estimate(sums, score.sums.figure, lambda totals: "undefined", items=items, bootstrap=bootstrap)


def caption_difference(
    score: CaptionScore, base: CaptionScore, bootstrap: Bootstrap | None
) -> Difference | None:
    """Return the corpus's figure of `score` minus that of `base`, both on the same resamples of images.

    None without a bootstrap, and for a measure without sums. Both are scores of one measure for the same
    items, in the same order. Raises ValueError and AgreementError as `bootstrap_difference_of_sums` does.
    """
    if bootstrap is None or score.sums is None or base.sums is None:
        return None
    return bootstrap_difference_of_sums(score.sums.added, base.sums.added, score.sums.figure, bootstrap)
