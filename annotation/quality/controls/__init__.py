"""Control items of campaigns: drawn from, graded by, and added to.

pool, shown, seen, grade            what the queue needs of them
measured, measures_late             what they came to with a worker
known, rules, tells_of_drawer       what follows from which there are
history, strangeness                which of them would stand out before a worker
add, from_csv, from_captions,       where they come from; raises BadItems, storing nothing
from_split, install_sentences
retire                              out of the pools

Items made from a layer or from answers: `annotation.moderation.control_items`.
"""

from annotation.protocol.kinds import BadItem
from annotation.quality.controls.authoring import Added, BadItems, add, retire
from annotation.quality.controls.captions import from_captions, from_split
from annotation.quality.controls.counted import CountedItem
from annotation.quality.controls.items import ItemName, KnownItem
from annotation.quality.controls.likeness import History, history, strangeness
from annotation.quality.controls.pools import (
    grade,
    known,
    known_from_plain,
    measured,
    measures_late,
    pool,
    rules,
    seen,
    shown,
    tells_of_drawer,
    warnings,
)
from annotation.quality.controls.sentences import install as install_sentences
from annotation.quality.controls.table import from_csv

__all__ = [
    "Added",
    "BadItem",
    "BadItems",
    "CountedItem",
    "History",
    "ItemName",
    "KnownItem",
    "add",
    "from_captions",
    "from_csv",
    "from_split",
    "grade",
    "history",
    "install_sentences",
    "known",
    "known_from_plain",
    "measured",
    "measures_late",
    "pool",
    "retire",
    "rules",
    "seen",
    "shown",
    "strangeness",
    "tells_of_drawer",
    "warnings",
]
