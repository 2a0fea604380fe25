"""Control items made from what a campaign or a corpus already holds, and retired when that changes.

from_gold, from_golds       from a layer that is taken for the truth; raises PhraseboxError
promote                     from questions that answers agree on; raises PhraseboxError
hold, recheck, named        retire and name what rulings and withdrawals contradict
"""

from annotation.moderation.control_items.contradicted import (
    lock_campaigns,
    names_of_items,
    retire_contradicted_items,
)
from annotation.moderation.control_items.from_answers import promote
from annotation.moderation.control_items.from_layer import from_gold
