"""Template tags of all pages: signed picture addresses, numbers in groups of three, and times."""

from datetime import UTC, datetime
from typing import Any

from django import template
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.workers import picture_addresses as addresses

register = template.Library()


@register.simple_tag(takes_context=True)
def picture_address(context: dict[str, Any], name: str, size: str = addresses.FULL) -> str:
    """Return the address of picture `name`, "full" or "small", valid for the session of the page."""
    return addresses.signed_picture_address(context["request"], name, size)


@register.filter
def grouped(number: int) -> str:
    """Return 31783 in the format of the language: 31,783."""
    return number_format(number, use_l10n=True, force_grouping=True)


@register.filter
def moment(at: datetime | None) -> str:
    """Return a date and a time, in UTC until the reader's browser converts it to local time; "" for None."""
    return _time(at, "DATETIME_FORMAT", "moment") if at else ""


@register.filter
def clock_time(at: datetime | None) -> str:
    """Like `moment`, without the date."""
    return _time(at, "TIME_FORMAT", "time") if at else ""


def _time(at: datetime, form: str, style: str) -> SafeString:
    at = at.astimezone(UTC)
    machine = at.isoformat(timespec="seconds").replace("+00:00", "Z")
    return format_html(
        '<time datetime="{}" data-style="{}">{}\N{NO-BREAK SPACE}UTC</time>',
        machine,
        style,
        date_format(at, form),
    )
