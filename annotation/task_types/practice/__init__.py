"""What workers see and try before they begin: examples of good and bad answers, and items to practise on.

Both are about a few scenes of the sample corpus, drawn and captioned by us, whose gold is known; their
pictures are static files, made again by `manage.py make_examples`. Nothing here touches a database: practice
is not stored, not paid, and no part of anybody's trust state; a campaign's control items are not used up by
it.
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
