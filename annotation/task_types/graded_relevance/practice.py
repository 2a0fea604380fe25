"""Practice of grading: how well does a sentence fit?"""

from django.utils.translation import gettext_lazy as _

from annotation.task_types.graded_relevance.type import GradedRelevance
from annotation.task_types.practice.registry import PRACTICE, PracticeExample, PracticeItem
from annotation.task_types.single_caption.practising import SentencePractice

_ITEMS = (
    PracticeItem(
        "frisbee",
        _("The boy, the frisbee and the white dog are all there, and he is throwing."),
        "4",
        sentence="A boy throws a frisbee for his white dog.",
    ),
    PracticeItem(
        "wedding",
        _("Bride, groom and cake are right; only the colour of the cake is wrong: it is purple."),
        "3",
        sentence="A bride and a groom stand beside a green cake.",
    ),
    PracticeItem(
        "stage",
        _("A man and a woman are there, but they make music: it is another scene."),
        "2",
        sentence="A man paints a picture while a woman looks on.",
    ),
    PracticeItem(
        "sheep",
        _("None of this can be seen: no car, no street, no night."),
        "1",
        sentence="Cars wait in a busy street at night.",
    ),
    PracticeItem(
        "kite",
        _("What it says is true; leaving out the older lady is not an error."),
        "4",
        sentence="A girl in a hat flies a kite.",
    ),
)

_EXAMPLES = (
    PracticeExample(
        True,
        PracticeItem(
            "umbrella",
            _("the umbrella is yellow and white: one detail is wrong"),
            "3",
            sentence="Two men lie under a blue umbrella on a beach.",
        ),
    ),
    PracticeExample(
        False,
        PracticeItem(
            "umbrella",
            _("a beach alone is not enough: it is another scene"),
            "3",
            sentence="Children build a castle on a beach.",
        ),
    ),
)


PRACTICE.register(GradedRelevance.key, SentencePractice(GradedRelevance.key, _ITEMS, _EXAMPLES))
