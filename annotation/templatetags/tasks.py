"""What the templates of task pages need: a phrase, marked, inside a translated sentence."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.web.desk import ASKED, MARK, Bit, as_printed

register = template.Library()
register.filter(as_printed)


@register.filter
def phrase(bit: Bit) -> SafeString:
    """A marked phrase with its number and colour, as the captions show it."""
    return format_html(
        '<mark class="mention hue-{}"><span class="words">'
        '<span class="bound"><b class="chip">{}</b>{}</span>{}</span></mark>',
        bit.hue,
        bit.number,
        bit.first,
        bit.rest,
    )


@register.simple_tag
def asked_box() -> SafeString:
    """The name that the box in question bears in the picture, in its colour."""
    return format_html('<b class="chip hue-{}">{}</b>', ASKED, MARK)
