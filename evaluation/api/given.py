"""A call's fields as the pages of evaluation read them, so that both ask the same services the same way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict
from rest_framework import serializers

from annotation.api.rest.fields import CallFields, TextField


class ArchivedFilter(CallFields):
    """Those that are archived, or, without it, those that are not."""

    archived = serializers.BooleanField(
        required=False, help_text="true: those that are archived; without it, those that are not."
    )


class ArchiveChange(CallFields):
    """Whether lists leave it out. Nothing else changes."""

    archived = serializers.BooleanField()


class TrainedOnField(TextField):
    """What whoever adds something declares that it learned from."""

    def __init__(self) -> None:
        text = "In your words; CORPUS:SPLIT of a corpus here, whose images are then counted."
        super().__init__(required=False, max_length=500, help_text=text)


class ProvenanceShown(serializers.Serializer[Any]):
    """What a system has seen of the images of a figure. `answer` is "none", "N of M" or "not known", which
    null in `learned` and `validated` says too. `sentence` says all of it."""

    answer = serializers.CharField()
    images = serializers.IntegerField()
    learned = serializers.IntegerField(allow_null=True, help_text="Images that it learned from.")
    validated = serializers.IntegerField(allow_null=True, help_text="Images that settings were chosen on.")
    by_name = serializers.IntegerField(help_text="Of both, those whose name is the same, not their picture.")
    unknown = serializers.ListField(
        child=serializers.CharField(), help_text="Its parts of which nobody knows what they learned from."
    )
    declared = serializers.ListField(child=serializers.CharField())
    notes = serializers.ListField(child=serializers.CharField())
    sentence = serializers.CharField()


#: What a form says of a box that is ticked.
_TICKED = {True: "1", False: ""}


def as_form(data: Mapping[str, Any], **more: Any) -> QueryDict:
    """These fields as a form sends them: lists as so many values, nothing where a value is null."""
    found = QueryDict(mutable=True)
    for name, value in {**data, **more}.items():
        held = value if isinstance(value, list) else [value]
        found.setlist(name, [_text(each) for each in held if each is not None])
    return found


def _text(value: Any) -> str:
    return _TICKED[value] if isinstance(value, bool) else str(value)
