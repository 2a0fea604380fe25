"""Figures as pages write them."""

from __future__ import annotations

import re

from django import template
from django.utils.formats import localize
from django.utils.translation import gettext, gettext_lazy, ngettext

from evaluation.comparison.comparisons import DECIMALS_BY_MEASURE
from evaluation.models import Run

register = template.Library()

#: What figures are a mean over (`FigureBasis.cases`), as pages write it.
CASES = {
    "captions": gettext_lazy("Captions"),
    "images": gettext_lazy("Images"),
    "mentions": gettext_lazy("Mentions"),
    "pairs": gettext_lazy("Pairs"),
    "phrases": gettext_lazy("Phrases"),
    "queries": gettext_lazy("Queries"),
    "systems": gettext_lazy("Systems"),
}


@register.filter
def figure(value: float | None, measure: str = "") -> str:
    """A figure with as many places as its measure has; a dash for one that does not exist."""
    return "–" if value is None else f"{value:.{DECIMALS_BY_MEASURE.get(measure, 3)}f}"


@register.filter
def cases(name: str) -> str:
    """What figures are a mean over, in the reader's language."""
    return str(CASES.get(name, name.capitalize()))


@register.filter
def level(share: float) -> str:
    """A level of intervals in per cent, such as 95 or 99.9."""
    percent = float(f"{100 * share:.6g}")
    return str(localize(int(percent) if percent.is_integer() else percent))


@register.filter
def images(run: Run) -> str:
    """Which images a run is of, in a table: a split, a fold, the name of the file that lists them, all; or
    "", where it was made elsewhere and nobody knows."""
    if not run.split:
        return gettext("all images") if run.system_digest else ""
    return run.split.rsplit("/", 1)[-1] if run.split.startswith("/") else run.split


@register.filter
def subset_in_words(called: str) -> str:
    """Which images figures or qrels are of, kept in English, in the reader's language; "" for all."""
    if found := re.fullmatch(r"(\d+) images of the set", called):
        number = int(found[1])
        told = ngettext("%(number)s image of the set", "%(number)s images of the set", number)
        return told % {"number": localize(number)}
    if called.endswith(", as localized"):
        return gettext("%(images)s, as localized") % {
            "images": subset_in_words(called.removesuffix(", as localized"))
        }
    if called.startswith("images in "):
        return gettext("images in %(file)s") % {"file": called.removeprefix("images in ")}
    if called.startswith("images of run "):
        return gettext("images of run %(name)s") % {"name": called.removeprefix("images of run ")}
    if called.startswith("split "):
        return gettext("split %(name)s") % {"name": called.removeprefix("split ")}
    if found := re.fullmatch(r"fold (\S+) \(seed (\d+)\)", called):
        return gettext("fold %(fold)s (seed %(seed)s)") % {"fold": found[1], "seed": found[2]}
    if called.startswith("fold "):
        return gettext("fold %(fold)s") % {"fold": called.removeprefix("fold ")}
    return called
