"""What the pages' templates need: signed picture addresses, and numbers in groups of three."""

from typing import Any

from django import template
from django.utils.formats import number_format

from annotation.workers import picture_addresses as addresses

register = template.Library()


@register.simple_tag(takes_context=True)
def picture_address(context: dict[str, Any], name: str, size: str = addresses.FULL) -> str:
    """The address of picture `name`, "full" or "small", good for the session the page is made for."""
    return addresses.signed_picture_address(context["request"], name, size)


@register.filter
def grouped(number: int) -> str:
    """31783 as the language writes it: 31,783."""
    return number_format(number, use_l10n=True, force_grouping=True)
