"""Which captions describe which pictures? Pages of several images. Hodosh et al. 2013, section 4.3.2.

A control item is an image of a page: one to three of its own captions, the rest random ones that were
verified not to describe it.
"""

from annotation.protocol.kinds import KINDS, Number, PairBatch
from annotation.protocol.words import gettext_noop as _
from annotation.task_types.ticked_pages.grading import ticked_pages

RELEVANCE = "relevance"
#: Possible numbers of own captions of a control image (section 4.3.2).
TRUE_CAPTIONS = (1, 2, 3)

RULES = ticked_pages(
    RELEVANCE,
    tasks="relevance",
    sort_order=70,
    most_true=max(TRUE_CAPTIONS),
    numbers={RELEVANCE: Number(3, "Hodosh et al. 2013, section 4.3.2", _("Workers who judge each page"))},
    batch=PairBatch(90.0, filtered=True, published="flickr8k-crowd"),
    built_in=True,
)

KINDS.register(RULES.key, RULES)
