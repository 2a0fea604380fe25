"""Control items made from existing answers or layers of a campaign or corpus, and retired when these change.

from_gold                   from a layer that is taken as gold; raises PhraseboxError
promote                     from questions on which answers agree; raises PhraseboxError
lock_campaigns,             retire and name what rulings and withdrawals contradict
retire_contradicted_items,
names_of_items
"""

from annotation.moderation.control_items.contradicted import (
    lock_campaigns,
    names_of_items,
    retire_contradicted_items,
)
from annotation.moderation.control_items.from_answers import promote
from annotation.moderation.control_items.from_layer import from_gold
