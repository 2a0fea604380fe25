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
from annotation.quality.controls.authoring import (
    Added,
    BadItems,
    add_control_items,
    install_sentences,
    retire_control_items,
)
from annotation.quality.controls.captions import from_captions, from_split
from annotation.quality.controls.counted import CountedControlItem
from annotation.quality.controls.items import ControlItem, ControlItemName
from annotation.quality.controls.likeness import history, strangeness
from annotation.quality.controls.pools import (
    control_counts,
    control_pool,
    control_warnings,
    controls_seen,
    displayed_control,
    gold_coverage,
    gold_from_json,
    grade_control,
    measures_late,
    qualification_pools,
    tells_of_drawer,
    trust_rules_in_force,
)
from annotation.quality.controls.table import from_csv
