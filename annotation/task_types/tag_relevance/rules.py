"""Which tags fit a picture? A page of one picture with ten tags.

A tag is a caption of the corpus: of a corpus of candidates, which contains the tags of several systems.
Judges do not learn the systems. This is our own kind, modelled on the relevance pages of Hodosh et al. 2013,
section 4.3.2.

A page shows a single picture, so a control item is a page by itself: one to five tags that fit, and others
that do not.
"""

from annotation.protocol.kinds import KINDS, Number, PairBatch
from annotation.protocol.words import gettext_noop as _
from annotation.task_types.ticked_pages.grading import ticked_pages

TAG_RELEVANCE = "tag_relevance"
#: Maximum number of fitting tags of a control item: half of them.
MOST_TRUE = 5

RULES = ticked_pages(
    TAG_RELEVANCE,
    tasks="tags",
    sort_order=75,
    most_true=MOST_TRUE,
    numbers={
        TAG_RELEVANCE: Number(3, "decided: as pages of captions", _("Workers who judge each page of tags"))
    },
    usual={"page": {"images": 1, "captions": 10, "controls": 0}},
    batch=PairBatch(20.0),
)

KINDS.register(RULES.key, RULES)
