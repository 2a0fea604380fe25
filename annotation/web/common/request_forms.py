"""Forms made from the requests of operations: what a person types is read and checked as a program's call is.

A page places the fields (`operations/field.html` is one, `operations/form.html` all of them); their words,
choices, values and errors come from the request.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from typing import Any, cast

from django import forms
from django.http import QueryDict

from annotation.common.operations import (
    FieldError,
    Invalid,
    Operation,
    RequestField,
    read_request,
    request_fields,
)
from annotation.common.operations.fields import NAME_PATTERN
from annotation.models import Account

#: The choice of nothing.
_NONE = ("", "–")
#: Rows that a choice among stored things offers.
_MOST_ROWS = 200


class _TableArea(forms.Textarea):
    """A table as TOML, in which an empty one is no text."""

    def format_value(self, value: Any) -> str | None:
        return super().format_value(value) if value else ""


class _Files(forms.FileInput):
    """A field of several files."""

    allow_multiple_selected = True


class _Words(forms.TextInput):
    """A list of words: in one text, or each sent by itself, as ticked boxes are."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        return ", ".join(data.getlist(name))

    def format_value(self, value: Any) -> Any:
        return super().format_value(", ".join(map(str, value)) if isinstance(value, list | tuple) else value)


class _Lines(forms.Textarea):
    """A long text, or a list with a text in each line."""

    def format_value(self, value: Any) -> Any:
        return super().format_value("\n".join(map(str, value)) if isinstance(value, list | tuple) else value)


class RequestForm(forms.Form):
    """The form of an operation for an account: with `sent`, what was sent of it; else `initial` values, and
    the defaults. `fields_shown` are those that the page has (default: all); the others are as by default.
    `files` are the paths of what was sent of fields that hold files (`received_files`). `ids` makes a field's
    id of its name, on a page of several forms.

    Where it is valid, `request` is the request, and `row` what its permission is about.
    """

    request: Any = None
    row: Any = None
    invalid: Invalid | None = None

    def __init__(
        self,
        operation: Operation,
        account: Account,
        sent: QueryDict | None = None,
        *,
        initial: Mapping[str, Any] | None = None,
        fields_shown: Collection[str] | None = None,
        files: Mapping[str, Any] | None = None,
        ids: str = "%s",
    ) -> None:
        super().__init__(sent, initial=dict(initial or {}), auto_id=ids)
        self.operation, self.account, self.received = operation, account, files or {}
        self.label_suffix = ""
        self.known = {
            name: one
            for name, one in request_fields(operation.request).items()
            if fields_shown is None or name in fields_shown
        }
        for name, one in self.known.items():
            self.fields[name] = forms.Field(
                required=False,
                label=cast(str, one.label),
                help_text=cast(str, one.help),
                initial=one.default,
                widget=self._widget(one),
            )
        if operation.page is not None and operation.page.sure:
            self.fields["sure"] = forms.BooleanField(label=cast(str, operation.page.sure))

    def clean(self) -> dict[str, Any]:
        """Read the request; add to each field what is wrong with it."""
        try:
            data = {name: value for name, one in self.known.items() for value in self._values(one)}
            self.request = read_request(self.operation.request, data)
            self.row = self.operation.admit(self.request, self.account)
        except Invalid as error:
            self.refuse(error)
        return {}

    def refuse(self, error: Invalid) -> None:
        """Say beside each field what is wrong with it: what the operation itself refused, too."""
        self.invalid = error
        names = [one.field.partition(".")[0] for one in error.errors]
        for name in names:  # a file that is refused is not missing, too
            self.errors.pop(name, None)
        for name, one in zip(names, error.errors, strict=True):
            self.add_error(name if name in self.fields else None, forms.ValidationError(one.detail, one.code))

    def _values(self, one: RequestField) -> list[Any]:
        """What was sent of a field, as JSON has it: one value, or none where it says nothing."""
        if one.upload is not None:
            return [self.received[one.name]] if one.name in self.received else []
        if one.rule.sort == "boolean" and one.name not in self.data:
            return []  # a box that is shown sends something, ticked or not
        sent: Any = self.fields[one.name].widget.value_from_datadict(self.data, self.files, one.name)
        if isinstance(sent, list):
            return [[one.read_text(text) for text in map(_clean, sent) if text]]
        if isinstance(sent, bool):
            return [sent]
        text = _clean(sent or "")
        if not text:
            return []
        if one.rule.sort == "object":
            try:
                return [tomllib.loads(text)]
            except (ValueError, RecursionError) as error:  # numbers of no end too
                raise Invalid(FieldError(one.name, "toml", {"message": error})) from error
        if one.many:
            texts = text.splitlines() if one.lines > 1 else _words(one, text)
            return [[one.read_text(each) for each in map(str.strip, texts) if each]]
        return [one.read_text(text)]

    def _widget(self, one: RequestField) -> forms.Widget:
        if one.upload is not None:
            return _Files({"multiple": True}) if one.many else forms.FileInput()
        if one.rule.sort == "boolean":
            return forms.CheckboxInput()
        if one.server_file is not None:
            names = [(name, name) for name in one.server_file.names()]
            if not names and not one.required:
                return forms.HiddenInput()
            if one.many:
                return forms.CheckboxSelectMultiple(choices=names)
            return forms.Select(choices=names if one.required else [_NONE, *names])
        if one.rule.sort == "object":
            return _TableArea({"rows": 6, "spellcheck": "false", "class": "code"})
        if one.named is not None and one.named.kind is not None and one.named.kind.column == "name":
            kind, account, roles = one.named.kind, self.account, self.operation.permission.roles

            def rows() -> Any:
                names = kind.names(account, roles)
                empty = [] if one.many or one.required else [_NONE]
                return empty + [(name, name) for name in names[:_MOST_ROWS]]

            choices: Any = rows  # asked when the field is rendered
            return (
                forms.CheckboxSelectMultiple(choices=choices) if one.many else forms.Select(choices=choices)
            )
        if one.one_of is not None:
            choices = [(value, title or value) for value, title in one.one_of.choices().items()]
            if one.many:
                return forms.CheckboxSelectMultiple(choices=choices)
            return forms.Select(choices=choices if one.default else [("", one.one_of.none), *choices])
        if one.lines > 1:
            return _Lines({"rows": one.lines})
        if one.many:
            return _Words({"autocapitalize": "none", "spellcheck": "false"})
        attributes: dict[str, Any] = {"autocapitalize": "none", "spellcheck": "false"}
        if one.named is not None and one.named.kind is None:
            # Browsers take no bare hyphen in a class of characters.
            pattern = NAME_PATTERN.strip("^$").replace("[-", r"[\-")
            attributes |= {"pattern": pattern, "maxlength": one.named.max_length}
        if one.required:
            attributes["required"] = True
        modes = {"integer": "numeric", "number": "decimal"}
        if one.rule.sort in modes:
            attributes["inputmode"] = modes[one.rule.sort]
        if one.rule.sort == "date":
            attributes["type"] = "date"
        return forms.TextInput(attributes)


def sent_request(operation: Operation, account: Account, sent: QueryDict, **address: str) -> tuple[Any, Any]:
    """The request that a form without fields of its own sends, as a button does, and the row that the
    permission is about; `address` are fields that the page's address says. Raises Invalid."""
    values = sent.copy()
    for name, text in address.items():
        values[name] = text
    form = RequestForm(operation, account, values, fields_shown=values.keys())
    if not form.is_valid():
        assert form.invalid is not None
        raise form.invalid
    return form.request, form.row


def _words(one: RequestField, text: str) -> list[str]:
    """What a person lists in one field: separated by commas, else by spaces."""
    parts = text.split(",") if "," in text or one.only_commas else text.split()
    return [part.strip() for part in parts if part.strip()]


def _clean(text: str) -> str:
    """A text without null characters, which no database stores, and without spaces at its ends."""
    return text.replace("\0", "").strip()
