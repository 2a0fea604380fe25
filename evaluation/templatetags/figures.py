"""Figures as pages write them."""

from __future__ import annotations

from django import template

from evaluation.comparisons import PLACES

register = template.Library()


@register.filter
def figure(value: float | None, measure: str = "") -> str:
    """A figure with as many places as its measure has; a dash for one that does not exist."""
    return "–" if value is None else f"{value:.{PLACES.get(measure, 3)}f}"


@register.filter
def images(split: str) -> str:
    """Which images a run is of, in a table: a split, a fold, or the name of the file that lists them."""
    return split.rsplit("/", 1)[-1] if split.startswith("/") else split
