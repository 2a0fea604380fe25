"""Why a campaign hands out nothing: as it is stored, and as it is read.

What somebody wrote stays as they wrote it. What the product itself says is stored as a word and its values,
"=until 2027-03-01", in no language, and put into words for its reader.
"""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.selectors.campaign.cost import money

#: What the product says: the stop rules by their names, and that somebody paused it without a word.
BUDGET, UNTIL, IMAGES, PAUSED = "budget", "until", "images", "paused"
_MARK = "="


def coded_reason(word: str, *values: object) -> str:
    """How a reason of the product's own is stored."""
    return " ".join([_MARK + word, *map(str, values)])


def reason_in_words(reason: str) -> str:
    """A stored reason, for a reader of the language of now; what somebody wrote is theirs."""
    match reason.removeprefix(_MARK).split(maxsplit=2) if reason.startswith(_MARK) else []:
        case [word, micros, currency] if word == BUDGET and micros.isdecimal():
            return _("the budget of %(sum)s is spent or reserved") % {"sum": money(int(micros), currency)}
        case [word, day] if word == UNTIL:
            return _("its last day, %(day)s, has passed") % {"day": day}
        case [word, number] if word == IMAGES and number.isdecimal():
            return ngettext(
                "%(n)s image is complete, the number requested",
                "%(n)s images are complete, the number requested",
                int(number),
            ) % {"n": number}
        case [word] if word == PAUSED:
            return _("a researcher paused it")
    return reason
