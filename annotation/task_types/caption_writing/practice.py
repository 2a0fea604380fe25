"""Practice of writing captions, and of its test of spelling."""

from django.utils.translation import gettext_lazy as _

from annotation.task_types.caption_writing.type import CaptionWriting
from annotation.task_types.practice.registry import PRACTICE, Practice, PracticeExample, PracticeItem

_ITEMS = (
    PracticeItem(
        "stage",
        _("“performs” should be “perform”: there are two people."),
        "incorrect",
        sentence="Two people performs on a stage.",
    ),
    PracticeItem(
        "frisbee",
        _("Spelling and grammar are right."),
        "correct",
        sentence="A boy throws a frisbee, and his dog waits for it.",
    ),
    PracticeItem(
        "sheep",
        _("“there” names a place; whose sheep they are is said by “their”."),
        "incorrect",
        sentence="A farmer and a dog look after there sheep.",
    ),
    PracticeItem(
        "frisbee",
        _("Both sentences say who is there and what they do, and nothing that cannot be seen."),
        models=(
            "A boy in a brown hat throws a pink frisbee for his white dog.",
            "A child is playing fetch with a dog in an open field.",
        ),
    ),
    PracticeItem(
        "umbrella",
        _("Both sentences begin with the two men in the middle and say where they are."),
        models=(
            "Two men relax under a striped umbrella on a beach while somebody jumps behind them.",
            "An older man in a top hat and a bearded man lie in the sand.",
        ),
    ),
)

_EXAMPLES = (
    PracticeExample(
        True,
        PracticeItem(
            "kite",
            _("who, what they do, and where"),
            sentence="A girl in a hat flies a yellow kite in a park.",
        ),
    ),
    PracticeExample(
        False,
        PracticeItem(
            "kite", _("who they are to each other cannot be seen"), sentence="Grandma visits on a Sunday."
        ),
    ),
)


class WritingPractice(Practice):
    """With a sentence, the item is one of the test; without, a caption is to be written."""

    def content(self, item: PracticeItem) -> dict[str, object]:
        return {"sentence": item.sentence} if item.sentence else {}


PRACTICE.register(CaptionWriting.key, WritingPractice(CaptionWriting.key, _ITEMS, _EXAMPLES))
