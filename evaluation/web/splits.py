"""Which images a form asks for: a split of a corpus, or a fold. A page never opens a file by its path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from annotation.selectors.corpora import split_names
from evaluation.comparison.subsets import FOLD, OF_RUN
from evaluation.models import Run
from evaluation.web.frame import text_parameter

#: Regions of an image, or of a mention, that pages and the API take.
MOST_REGIONS = 1000


class NotOffered(ValueError):
    """A form that holds what its page does not offer; one line with the remedy."""


def which_in(given: Mapping[str, str], name: str, corpus: Any, *, or_all: bool = False) -> str:
    """The split or fold called `name` in a form; raises NotOffered.

    With `or_all` it is "" where the form says nothing, which means all images.
    """
    wanted = text_parameter(given, name)
    if or_all and not wanted:
        return ""
    if wanted and (wanted in split_names(corpus) or FOLD.fullmatch(wanted)):
        return wanted
    raise NotOffered(
        _("“%(given)s” is not a split of %(corpus)s: choose a split, or a fold such as 1/5.")
        % {"given": wanted[:60], "corpus": corpus.name}
    )


def part_in(given: Mapping[str, str], name: str, corpus: Any) -> str:
    """A split, a fold, or `run:NAME` for the images of a run, in a form; "" for all; raises NotOffered."""
    wanted = text_parameter(given, name)
    if wanted.startswith(OF_RUN):
        run = wanted.removeprefix(OF_RUN)
        if Run.objects.filter(name=run, corpus=corpus, published=True).exists():
            return wanted
        raise NotOffered(
            _("“%(given)s” is not a run of %(corpus)s.") % {"given": run[:60], "corpus": corpus.name}
        )
    return which_in(given, name, corpus) if wanted else ""


def whole_in(given: Mapping[str, str], name: str, *, default: int) -> int:
    """The whole number called `name` in a form, or the default where it says nothing; raises NotOffered."""
    text = text_parameter(given, name)
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise NotOffered(_("“%(given)s” is not a whole number.") % {"given": text[:60]})
    return int(text)


def regions_in(given: Mapping[str, str], *, default: int) -> int:
    """How many regions of an image or a mention a form asks for at most (`limit`); raises NotOffered."""
    limit = whole_in(given, "limit", default=default)
    if not 1 <= limit <= MOST_REGIONS:
        raise NotOffered(
            _("%(given)s regions: choose from 1 to %(most)s.") % {"given": limit, "most": MOST_REGIONS}
        )
    return limit
