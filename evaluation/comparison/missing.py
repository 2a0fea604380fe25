"""Cases that a system has no output for: refused, counted as the worst result, or left out.

The same choices and words hold for runs, captions, tags and localizations. Systems that answer only the cases
of which they are sure look better than they are, so nothing is left out unless somebody says so.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from django.utils.translation import gettext_lazy as _

Missing = Literal["refuse", "worst", "leave-out"]
MISSING_CHOICES: tuple[Missing, ...] = get_args(Missing)
REFUSE, WORST, LEAVE_OUT = MISSING_CHOICES

_TITLES: Mapping[str, Any] = {
    REFUSE: _("do not score"),
    WORST: _("count as the worst result"),
    LEAVE_OUT: _("leave out"),
}
#: Cases without output of which the first are named.
_NAMED = 3


def missing_choices() -> Mapping[str, Any]:
    """What may become of missing output, in words."""
    return _TITLES


class MissingOutput(ValueError):
    """A system lacks the output of cases that it is scored on; one line with their number and the remedy."""


def named_cases(number: int, cases: str, names: Sequence[str]) -> str:
    """How many, and the first of them by name: "4 images ('a.jpg', 'b.jpg', 'c.jpg', ...)"."""
    first = ", ".join(repr(name[:60]) for name in names[:_NAMED]) + (", ..." if number > _NAMED else "")
    return f"{number:,} {cases} ({first})" if names else f"{number:,} {cases}"


def check_missing(missing: str, *, lacking: Sequence[str], out_of: int, cases: str, output: str) -> None:
    """Raise MissingOutput where cases, named by `lacking`, have no output and `missing` is REFUSE.

    `cases` and `output` are words in the plural and the singular: "images" lack a "caption". Raises
    MissingOutput for a word that is none of MISSING_CHOICES, too.
    """
    if missing not in MISSING_CHOICES:
        raise MissingOutput(f"missing {cases} {missing!r}: expected {', '.join(MISSING_CHOICES)}")
    if missing == REFUSE and lacking:
        raise MissingOutput(
            f"{named_cases(len(lacking), f'of {out_of:,} {cases}', lacking)} have no {output}: supply them, "
            f"choose other {cases}, or choose {WORST!r} or {LEAVE_OUT!r} for missing {cases}"
        )
