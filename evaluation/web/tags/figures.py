"""Figures as pages write them."""

from __future__ import annotations

from django import template
from django.utils.formats import localize
from django.utils.translation import gettext

from evaluation.comparison.comparisons import DECIMALS_BY_MEASURE
from evaluation.models import Run

register = template.Library()


@register.filter
def figure(value: float | None, measure: str = "") -> str:
    """A figure with as many places as its measure has; a dash for one that does not exist."""
    return "–" if value is None else f"{value:.{DECIMALS_BY_MEASURE.get(measure, 3)}f}"


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
