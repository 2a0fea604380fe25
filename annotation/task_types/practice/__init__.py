"""Examples of good and bad answers, and items to practise on, for workers before they begin.

Both are about a few scenes of the sample corpus, drawn and captioned by us, with gold; their pictures are
static files, created by `manage.py make_examples`. Nothing here uses a database: practice is not stored, not
paid, and no part of a trust state, and uses up no control items.
"""

from annotation.task_types.displayed import DisplayedImage
from annotation.task_types.practice.registry import (
    PRACTICE,
    NamedBox,
    Practice,
    PracticeExample,
    PracticeItem,
    Verdict,
)
from annotation.task_types.practice.scenes import practice_scene
