"""The figure that chooses settings of taggers: the order of the true tags of held-out images.

It is the mean of precision@1 and precision@5 without distractors, as in `phrasebox.metrics.tagging`: which of
an image's own tags come first. Tied tags are in the worst order.

Source: structured listwise tagging, sections 4.2 and 4.3.
"""

import numpy as np

from models_core.estimators.base import Dataset, Matrix, TagNumbers
from models_core.estimators.predictors import CandidateTags
from phrasebox.scoring.ranking import first_among_best

#: The cut-offs of Tables 2 to 4.
CUT_OFFS = (1, 5)
#: The figure that chooses settings, in words.
PRECISION_OF_OWN = "mean of precision@1 and precision@5 of the own tags"


def known_tags(tags: TagNumbers) -> CandidateTags:
    """Return the trained tags as candidates; they have no names."""
    return CandidateTags(("",) * tags.vocabulary, np.arange(tags.vocabulary), tags.vectors)


def held_out_precision(scores: Matrix, tags: TagNumbers) -> float:
    """Return the figure, from 0 to 1; `scores` has shape (images, trained tags). 0 if no image has a known
    tag."""
    precisions = []
    for image in range(len(tags)):
        scores_of_tags = scores[image, tags.item(image)]
        precisions += [
            first_among_best(scores_of_tags, depth) / depth
            for k in CUT_OFFS
            if (depth := min(k, len(scores_of_tags)))
        ]
    return float(np.mean(precisions)) if precisions else 0.0


def tags_of(data: Dataset) -> TagNumbers:
    """Return the tags of a dataset's images. Raises ValueError if none has any."""
    assert isinstance(data.captions, TagNumbers)
    if not len(data.captions.values):
        raise ValueError("no image has a known tag; give others, or lower text.least_count")
    return data.captions


def presence(tags: TagNumbers) -> Matrix:
    """Return 1 for each tag that an image has, else 0, shape (images, trained tags)."""
    present = np.zeros((len(tags), tags.vocabulary))
    for image in range(len(tags)):
        present[image, tags.item(image)] = 1
    return present
