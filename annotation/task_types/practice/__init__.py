"""What workers see and try before they begin: examples of good and bad answers, and items to practise on.

Both are about a few scenes of the sample corpus, drawn and captioned by us, whose gold is known; their
pictures are static files, made anew by `manage.py make_examples`. Nothing here touches a database: practice
is not stored, not paid, and no part of anybody's standing; a campaign's known items are not used up by it.
"""

from annotation.task_types.practice.examples import EXAMPLES, Example
from annotation.task_types.practice.items import ITEMS
from annotation.task_types.practice.judging import GOOD_FIT, Verdict, judged
from annotation.task_types.practice.posing import posed
from annotation.task_types.practice.records import Item
from annotation.task_types.practice.scenes import scene

__all__ = ["EXAMPLES", "GOOD_FIT", "ITEMS", "Example", "Item", "Verdict", "judged", "posed", "scene"]
