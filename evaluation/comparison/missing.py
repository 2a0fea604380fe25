"""Cases for which a system has no output: refused, counted as the worst result, or left out.

Runs, captions, tags and localizations have the same choices with the same names. A system that answers only
the cases of which it is sure looks better than it is, so nothing is left out unless the user requests it.
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
#: How many cases without output an error names.
_NAMED = 3


def missing_choices() -> Mapping[str, Any]:
    """Return the ways to treat missing output, with their titles."""
    return _TITLES


class MissingOutput(ValueError):
    """A system lacks the output of scored cases; one line with their number and the remedy."""


def named_cases(number: int, cases: str, names: Sequence[str]) -> str:
    """Return the number of cases and the first names: "4 images ('a.jpg', 'b.jpg', 'c.jpg', ...)"."""
    first = ", ".join(repr(name[:60]) for name in names[:_NAMED]) + (", ..." if number > _NAMED else "")
    return f"{number:,} {cases} ({first})" if names else f"{number:,} {cases}"


def check_missing(missing: str, *, lacking: Sequence[str], out_of: int, cases: str, output: str) -> None:
    """Raise MissingOutput if the cases named in `lacking` have no output and `missing` is REFUSE.

    `cases` (plural) and `output` (singular) are words for the message: "images" lack a "caption". Also raises
    MissingOutput for a value outside MISSING_CHOICES.
    """
    if missing not in MISSING_CHOICES:
        raise MissingOutput(f"missing {cases} {missing!r}: expected {', '.join(MISSING_CHOICES)}")
    if missing == REFUSE and lacking:
        raise MissingOutput(
            f"{named_cases(len(lacking), f'of {out_of:,} {cases}', lacking)} have no {output}: supply them, "
            f"choose other {cases}, or choose {WORST!r} or {LEAVE_OUT!r} for missing {cases}"
        )
