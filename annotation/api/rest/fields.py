"""What calls may carry and what answers hold, field by field, as DRF and the OpenAPI document take it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.problems import FieldProblem, Problem
from annotation.api.rest.cursors import MOST_LIST_ROWS, USUAL_ROWS
from annotation.common.operations.fields import NAME_PATTERN


class CallFields(serializers.Serializer[Any]):
    """A record of fields. Of a body or a query, fields that are not among them are refused."""

    def to_internal_value(self, data: Any) -> Any:
        """The fields as values; raises ValidationError, also for unknown ones."""
        found = super().to_internal_value(data)
        unknown = sorted(set(map(str, data)) - set(self.fields))
        if unknown:
            told = _("There is no field of this name; known: %(known)s.") % {"known": ", ".join(self.fields)}
            raise serializers.ValidationError({name[:100]: [told] for name in unknown}, code="unknown_field")
        return found


class NameField(serializers.RegexField):
    """A name: letters, digits, hyphens and underscores, 100 at most."""

    def __init__(self, **about: Any) -> None:
        super().__init__(NAME_PATTERN, **{"max_length": 100, **about})


class TextField(serializers.CharField):
    """A text, as it is sent: spaces at its ends are kept away."""

    def __init__(self, **about: Any) -> None:
        super().__init__(**{"max_length": 200, **about})


class CursorQuery(CallFields):
    """What every list can be asked for."""

    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_LIST_ROWS,
        help_text=f"Rows on a page; {USUAL_ROWS} unless told.",
    )
    cursor = serializers.CharField(
        required=False, max_length=1000, help_text="`next` of the page before; without it, the first page."
    )


def checked(fields: type[CallFields], data: Any) -> dict[str, Any]:
    """The values of `fields` in what was sent; raises Problem with an entry for each that is wrong."""
    if not isinstance(data, Mapping):
        raise Problem(HTTPStatus.BAD_REQUEST, "bad_request", _("Expected a JSON object: {...}."))
    serializer = fields(data=data)
    if serializer.is_valid():
        return dict(serializer.validated_data)
    errors = list(_problems("", serializer.errors))
    first = errors[0]
    raise Problem(
        HTTPStatus.BAD_REQUEST,
        "bad_request",
        f"{first.field}: {first.detail}" if first.field else first.detail,
        field=first.field,
        errors=errors,
    )


def _problems(place: str, errors: Any) -> Iterator[FieldProblem]:
    """DRF's nested errors, one by one."""
    if isinstance(errors, Mapping):
        for name, held in errors.items():
            yield from _problems(
                place if name == "non_field_errors" else f"{place}.{name}" if place else str(name), held
            )
    elif isinstance(errors, list):
        for number, held in enumerate(errors):
            inner = isinstance(held, Mapping | list)
            yield from _problems(f"{place}.{number}" if inner else place, held)
    else:
        yield FieldProblem(place, str(getattr(errors, "code", "invalid")), str(errors))
