"""What an import found, took and left, said above the page that follows."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest

from annotation.common.operations import sheet_text


def say_sheet(request: HttpRequest, result: Any) -> None:
    """Say the balance sheet of a result that has one; what was left unused is a warning."""
    sheet = getattr(result, "sheet", None)
    if sheet is not None and sheet.lines:
        say = messages.warning if sheet.unused else messages.info
        say(request, " · ".join(sheet_text(sheet)))
