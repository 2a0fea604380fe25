"""A call's fields as the pages of evaluation read them, so that both ask the same services the same way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.http import QueryDict
from rest_framework import serializers

from annotation.api.rest.fields import CallFields


class ArchivedFilter(CallFields):
    """Those that are archived, or, without it, those that are not."""

    archived = serializers.BooleanField(
        required=False, help_text="true: those that are archived; without it, those that are not."
    )


class ArchiveChange(CallFields):
    """Whether lists leave it out. Nothing else changes."""

    archived = serializers.BooleanField()


#: What a form says of a box that is ticked.
_TICKED = {True: "1", False: ""}


def as_form(data: Mapping[str, Any], **more: Any) -> QueryDict:
    """These fields as a form sends them: lists as so many values, nothing where a value is null."""
    found = QueryDict(mutable=True)
    for name, value in {**data, **more}.items():
        held = value if isinstance(value, list) else [value]
        found.setlist(name, [_text(each) for each in held if each is not None])
    return found


def as_plain_json(value: Any) -> Any:
    """Dataclasses' plain data as JSON has it: tuples as lists, times and paths as text."""
    return json.loads(json.dumps(value, default=str))


def _text(value: Any) -> str:
    return _TICKED[value] if isinstance(value, bool) else str(value)
