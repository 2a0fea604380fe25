"""Practice of checking sentences."""

from django.utils.translation import gettext_lazy as _

from annotation.task_types.caption_check.rules import BAD_SENTENCE, GOOD, NEITHER, NOT_DESCRIBED
from annotation.task_types.caption_check.type import CaptionCheck
from annotation.task_types.practice.registry import PRACTICE, PracticeExample, PracticeItem
from annotation.task_types.single_caption.practising import SentencePractice

_ITEMS = (
    PracticeItem(
        "frisbee",
        _("The boy, the frisbee and the white dog are all there, and nothing is wrong with the sentence."),
        GOOD,
        sentence="A boy throws a frisbee for his white dog.",
    ),
    PracticeItem(
        "wedding",
        _("Bride, groom and cake are there; but “standing” alone is no verb: “are standing”."),
        BAD_SENTENCE,
        sentence="A bride and groom standing beside cake.",
    ),
    PracticeItem(
        "sheep",
        _("A good sentence, and none of it can be seen: no car, no street, no night."),
        NOT_DESCRIBED,
        sentence="Cars wait in a busy street at night.",
    ),
    PracticeItem(
        "stage",
        _("No dog can be seen, and the words are no sentence."),
        NEITHER,
        sentence="Nice dogs nice day!!",
    ),
    PracticeItem(
        "kite",
        _("What it says is true; leaving out the older lady is no fault."),
        GOOD,
        sentence="A girl in a hat flies a kite.",
    ),
)

_EXAMPLES = (
    PracticeExample(
        True,
        PracticeItem(
            "umbrella",
            _("“lays” should be “lie”: it describes the picture, in a bad sentence"),
            BAD_SENTENCE,
            sentence="Two men lays under an umbrella on a beach.",
        ),
    ),
    PracticeExample(
        False,
        PracticeItem(
            "umbrella",
            _("no children can be seen: a good sentence about another picture"),
            GOOD,
            sentence="Children build a castle on a beach.",
        ),
    ),
)


PRACTICE.register(CaptionCheck.key, SentencePractice(CaptionCheck.key, _ITEMS, _EXAMPLES))
