"""Known items of campaigns: drawn from, graded by, and added to.

pool, shown, seen, grade            what the queue needs of them
add, from_csv, from_gold, promote   where they come from; raises BadItems, storing nothing
retire                              out of the pools
"""

from annotation.controls.authoring import Added, BadItems, add, retire
from annotation.controls.gold import NoGold, from_gold, from_golds
from annotation.controls.items import BadItem, KnownItem
from annotation.controls.pools import grade, known_from_plain, pool, seen, shown, warnings
from annotation.controls.promotion import CannotPromote, promote
from annotation.controls.table import from_csv

__all__ = [
    "Added",
    "BadItem",
    "BadItems",
    "CannotPromote",
    "KnownItem",
    "NoGold",
    "add",
    "from_csv",
    "from_gold",
    "from_golds",
    "grade",
    "known_from_plain",
    "pool",
    "promote",
    "retire",
    "seen",
    "shown",
    "warnings",
]
