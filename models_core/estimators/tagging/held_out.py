"""What settings of taggers are chosen by: the order of the true tags of held-out images.

The mean of precision@1 and precision@5 without distractors, as `phrasebox.metrics.tagging` has them: which
of an image's own tags come first. Tied tags are taken in the worst order.

Source: structured listwise tagging, sections 4.2 and 4.3.
"""

import numpy as np

from models_core.estimators.base import Dataset, Matrix, TagNumbers
from models_core.estimators.predictors import CandidateTags
from phrasebox.scoring.ranking import first_among_best

#: The cut-offs of Tables 2 to 4.
CUT_OFFS = (1, 5)
#: What settings are chosen by, in words.
PRECISION_OF_OWN = "mean of precision@1 and precision@5 of the own tags"


def known_tags(tags: TagNumbers) -> CandidateTags:
    """The tags learned from as candidates; those of a view have no names."""
    return CandidateTags(("",) * tags.vocabulary, np.arange(tags.vocabulary), tags.vectors)


def held_out_precision(scores: Matrix, tags: TagNumbers) -> float:
    """From 0 to 1; `scores` has shape (images, tags learned from). 0 where no image has a known tag."""
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
    """The tags of a dataset's images. Raises ValueError where none has any."""
    assert isinstance(data.captions, TagNumbers)
    if not len(data.captions.values):
        raise ValueError("no image has a known tag; give others, or lower text.least_count")
    return data.captions


def presence(tags: TagNumbers) -> Matrix:
    """Which image has which tag, 0 or 1, shape (images, tags learned from)."""
    present = np.zeros((len(tags), tags.vocabulary))
    for image in range(len(tags)):
        present[image, tags.item(image)] = 1
    return present
