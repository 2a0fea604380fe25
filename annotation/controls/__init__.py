"""Known items of campaigns: drawn from, graded by, and added to.

pool, shown, seen, grade            what the queue needs of them
measured, measures_late             what they came to with a worker
known, rules, tells_of_drawer       what follows from which there are
history, strangeness                which of them would stand out before a worker
add, from_csv, from_gold,           where they come from; raises BadItems, storing nothing
from_captions, from_split,
promote, install_spelling
retire                              out of the pools
hold, recheck, named                retire and name what rulings and withdrawals contradict
"""

from annotation.controls.authoring import Added, BadItems, add, retire
from annotation.controls.captions import from_captions, from_split
from annotation.controls.contradicted import hold, named, recheck
from annotation.controls.counted import CountedItem
from annotation.controls.gold import NoGold, from_gold, from_golds
from annotation.controls.items import BadItem, ItemName, KnownItem
from annotation.controls.likeness import History, history, strangeness
from annotation.controls.pools import (
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
from annotation.controls.promotion import CannotPromote, promote
from annotation.controls.spelling import install as install_spelling
from annotation.controls.table import from_csv

__all__ = [
    "Added",
    "BadItem",
    "BadItems",
    "CannotPromote",
    "CountedItem",
    "History",
    "ItemName",
    "KnownItem",
    "NoGold",
    "add",
    "from_captions",
    "from_csv",
    "from_gold",
    "from_golds",
    "from_split",
    "grade",
    "history",
    "hold",
    "install_spelling",
    "known",
    "known_from_plain",
    "measured",
    "measures_late",
    "named",
    "pool",
    "promote",
    "recheck",
    "retire",
    "rules",
    "seen",
    "shown",
    "strangeness",
    "tells_of_drawer",
    "warnings",
]
