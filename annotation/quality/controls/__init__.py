"""Control items of campaigns: drawing, grading, and adding them.

control_pool, qualification_pools,     for the queue
displayed_control, controls_seen,
grade_control
control_counts, measures_late          a worker's results on them
gold_coverage, trust_rules_in_force,   consequences of which items exist
tells_of_drawer
Resemblance                            which of them would look unusual to a worker
add_control_items, from_csv,           sources; raises BadItems, storing nothing
from_captions, from_split,
install_sentences
retire_control_items                   removes them from the pools

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
from annotation.quality.controls.likeness import Resemblance
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
