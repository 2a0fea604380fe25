"""Template tags of the box editor."""

from collections.abc import Iterable

from django import template

from annotation.web.common.overlay import DrawnBox

register = template.Library()


@register.filter
def by_name(boxes: Iterable[DrawnBox]) -> list[DrawnBox]:
    """Return boxes in the order of their names, A1, A2, ...; they are drawn the largest first."""
    return sorted(boxes, key=lambda box: (len(box.tags[0].name), box.tags[0].name))
