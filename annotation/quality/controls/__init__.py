"""Control items of campaigns: drawing, grading, and adding them.

pool, shown, seen, grade            for the queue
measured, measures_late             a worker's results on them
known, rules, tells_of_drawer       consequences of which items exist
history, strangeness                which of them would look unusual to a worker
add, from_csv, from_captions,       sources; raises BadItems, storing nothing
from_split, install_sentences
retire                              removes them from the pools

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
