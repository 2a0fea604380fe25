"""Forms made from the requests of operations: input is parsed and checked like a program's call.

A page places the fields (`operations/field.html` is one, `operations/form.html` all of them); their labels,
choices, values and errors come from the request.
"""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import HttpRequest, QueryDict

from annotation.common.operations import (
    FieldError,
    Invalid,
    Operation,
    RequestField,
    SettingField,
    put_setting,
    read_request,
    request_fields,
    sheet_text,
)
from annotation.common.operations.fields import NAME_PATTERN
from annotation.models import Account

#: The empty choice.
_NONE = ("", "–")
#: Maximum number of rows in a choice of stored objects.
_MOST_ROWS = 200
#: Texts of at least this many characters have several lines.
_LONG = 80
#: Input modes of numbers.
_MODES = {"integer": "numeric", "number": "decimal"}


class _TableArea(forms.Textarea):
    """A table as TOML; an empty one is shown as no text."""

    def format_value(self, value: Any) -> str | None:
        return super().format_value(value) if value else ""


class _Files(forms.FileInput):
    """A field of several files."""

    allow_multiple_selected = True


class _Words(forms.TextInput):
    """A list of words: in one text, or each sent by itself, as checkboxes do."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        return ", ".join(data.getlist(name))

    def format_value(self, value: Any) -> Any:
        return super().format_value(", ".join(map(str, value)) if isinstance(value, list | tuple) else value)


class _Lines(forms.Textarea):
    """A long text, or a list with a text in each line."""

    def format_value(self, value: Any) -> Any:
        return super().format_value("\n".join(map(str, value)) if isinstance(value, list | tuple) else value)


class TypedForm(forms.Form):
    """Fields with their input, and the errors of each."""

    def __init__(
        self, fields: Mapping[str, forms.Field], typed: Mapping[str, Any], problems: Mapping[str, str]
    ) -> None:
        super().__init__(dict(typed), auto_id="%s")
        self.label_suffix = ""
        self.fields.update(fields)
        for name in problems.keys() & fields.keys():
            self.add_error(name, problems[name][:1].upper() + problems[name][1:])


def setting_field(setting: SettingField, value: Any) -> forms.Field:
    """Return the field of a setting with `value`."""
    attributes = {"autocapitalize": "none", "spellcheck": "false", "autocomplete": "off"}
    if setting.rule.sort == "boolean":
        widget: forms.Widget = forms.CheckboxInput()
    elif setting.rule.choices:
        widget = forms.Select(
            choices=[(choice, setting.choices.get(choice, choice)) for choice in setting.rule.choices]
        )
    elif setting.rule.sort == "string" and len(setting.text(value)) > _LONG:
        widget = forms.Textarea({**attributes, "rows": 4})
    else:
        mode = {"inputmode": _MODES[setting.rule.sort]} if setting.rule.sort in _MODES else {}
        widget = forms.TextInput(
            {**attributes, **mode, **({"type": "date"} if setting.rule.sort == "date" else {})}
        )
    initial = value if setting.rule.sort == "boolean" else setting.text(value)
    return forms.Field(
        required=False,
        label=cast(str, setting.label),
        help_text=setting.bounds,
        initial=initial,
        widget=widget,
    )


class RequestForm(forms.Form):
    """The form of an operation for an account.

    `sent` is the submitted data; without it, `initial` values and the defaults are shown. `only_fields` are
    those on the page (default: all); the others have their defaults. `files` are the paths of uploaded files
    by field (`received_files`). `settings` are the settings within table fields, by field: each has a field
    of its own; submitted TOML fills them in. `ids` creates a field's id from its name, on a page of several
    forms.

    If it is valid, `request` is the request, and `row` the object of its permission.
    """

    request: Any = None
    row: Any = None
    invalid: Invalid | None = None

    def __init__(
        self,
        operation: Operation,
        account: Account,
        data: QueryDict | None = None,
        *,
        initial: Mapping[str, Any] | None = None,
        only_fields: Collection[str] | None = None,
        files: Mapping[str, Any] | None = None,
        settings: Mapping[str, Sequence[SettingField]] | None = None,
        ids: str = "%s",
    ) -> None:
        self.settings = settings or {}
        super().__init__(self._filled_in(data), initial=dict(initial or {}), auto_id=ids)
        tables = {name: self.initial.pop(name, {}) for name in self.settings}
        self.operation, self.account, self.received = operation, account, files or {}
        self.label_suffix = ""
        self.known = {
            name: field
            for name, field in request_fields(operation.request).items()
            if only_fields is None or name in only_fields
        }
        for name, field in self.known.items():
            self.fields[name] = forms.Field(
                required=False,
                label=cast(str, field.label),
                help_text=cast(str, field.help),
                initial=field.default,
                widget=self._widget(field),
            )
        for name, settings_of_field in self.settings.items():
            for part in settings_of_field:
                self.fields[f"{name}.{part.name}"] = setting_field(part, part.of(tables[name]))
        if operation.page is not None and operation.page.sure:
            self.fields["sure"] = forms.BooleanField(label=cast(str, operation.page.sure))

    def clean(self) -> dict[str, Any]:
        """Parse the request; add its errors to the fields."""
        try:
            data = {name: value for name, field in self.known.items() for value in self._values(field)}
            self.request = read_request(self.operation.request, data)
            self.row = self.operation.authorize(self.request, self.account)
        except Invalid as error:
            self.refuse(error)
        return {}

    def refuse(self, error: Invalid) -> None:
        """Add errors to the fields, including those of the operation itself."""
        self.invalid = error
        names = [self._field_of(problem.field) for problem in error.errors]
        for name in names:  # a rejected file is not missing, too
            self.errors.pop(name, None)
        for name, problem in zip(names, error.errors, strict=True):
            self.add_error(
                name if name in self.fields else None, forms.ValidationError(problem.detail, problem.code)
            )

    def _field_of(self, path: str) -> str:
        """Return the field that shows a path of the request."""
        while path not in self.fields and "." in path:
            path = path.rpartition(".")[0]
        return path

    def _filled_in(self, data: QueryDict | None) -> QueryDict | None:
        """Return the submitted data with a value for each setting: that of the TOML if there is one, else the
        input, else the default."""
        if data is None or not self.settings:
            return data
        filled = data.copy()
        for name, settings in self.settings.items():
            text = _clean(data.get(name, ""))
            try:
                table = tomllib.loads(text)
            except (ValueError, RecursionError):
                continue  # reported when it is read
            rest = deepcopy(table)
            for part in settings:
                _drop(rest, part.name)
                if text or f"{name}.{part.name}" not in data:
                    value = part.of(table)
                    text_value = str(value).lower() if isinstance(value, bool) else part.text(value)
                    filled[f"{name}.{part.name}"] = text_value
            if not rest:  # otherwise its unknown names are rejected later
                filled[name] = ""
        return filled

    def _table(self, name: str) -> dict[str, Any]:
        """Return the table of its settings' fields, with values that differ from the defaults."""
        table: dict[str, Any] = {}
        for part in self.settings[name]:
            key = f"{name}.{part.name}"
            if key not in self.data:
                continue
            typed = self.fields[key].widget.value_from_datadict(self.data, self.files, key)
            value = typed if isinstance(typed, bool) else part.read(_clean(typed))
            if value != part.default_value:
                put_setting(table, part.name, value)
        return table

    def _values(self, field: RequestField) -> list[Any]:
        """Return the submitted values of a field as JSON: one value, or none if it is empty."""
        if field.upload is not None:
            return [self.received[field.name]] if field.name in self.received else []
        if field.rule.sort == "boolean" and field.name not in self.data:
            return []  # a checkbox that is shown sends something, checked or not
        typed: Any = self.fields[field.name].widget.value_from_datadict(self.data, self.files, field.name)
        if isinstance(typed, list):
            return [[field.read_text(text) for text in map(_clean, typed) if text]]
        if isinstance(typed, bool):
            return [typed]
        text = _clean(typed or "")
        if not text and field.name in self.settings:
            return [self._table(field.name)]
        if not text:
            return []
        if field.rule.sort == "object":
            try:
                return [tomllib.loads(text)]
            except (ValueError, RecursionError) as error:  # infinite numbers too
                raise Invalid(FieldError(field.name, "toml", {"message": error})) from error
        if field.many:
            texts = text.splitlines() if field.lines > 1 else _words(field, text)
            return [[field.read_text(typed_text) for typed_text in map(str.strip, texts) if typed_text]]
        return [field.read_text(text)]

    def _widget(self, field: RequestField) -> forms.Widget:
        if field.upload is not None:
            return _Files({"multiple": True}) if field.many else forms.FileInput()
        if field.rule.sort == "boolean":
            return forms.CheckboxInput()
        if field.server_file is not None:
            names = [(name, name) for name in field.server_file.names()]
            if not names and not field.required:
                return forms.HiddenInput()
            if field.many:
                return forms.CheckboxSelectMultiple(choices=names)
            return forms.Select(choices=names if field.required else [_NONE, *names])
        if field.rule.sort == "object":
            return _TableArea({"rows": 6, "spellcheck": "false", "class": "code"})
        if field.named is not None and field.named.kind is not None and field.named.kind.column == "name":
            kind, account, roles = field.named.kind, self.account, self.operation.permission.roles

            def rows() -> Any:
                names = kind.names(account, roles)
                empty = [] if field.many or field.required else [_NONE]
                return empty + [(name, name) for name in names[:_MOST_ROWS]]

            choices: Any = rows  # queried when the field is rendered
            return (
                forms.CheckboxSelectMultiple(choices=choices) if field.many else forms.Select(choices=choices)
            )
        if field.one_of is not None:
            choices = [(value, title or value) for value, title in field.one_of.choices().items()]
            if field.many:
                return forms.CheckboxSelectMultiple(choices=choices)
            return forms.Select(choices=choices if field.default else [("", field.one_of.none), *choices])
        if field.lines > 1:
            return _Lines({"rows": field.lines})
        if field.many:
            return _Words({"autocapitalize": "none", "spellcheck": "false"})
        attributes: dict[str, Any] = {"autocapitalize": "none", "spellcheck": "false"}
        if field.named is not None and field.named.kind is None:
            # Browsers reject an unescaped hyphen in a character class.
            pattern = NAME_PATTERN.strip("^$").replace("[-", r"[\-")
            attributes |= {"pattern": pattern, "maxlength": field.named.max_length}
        if field.required:
            attributes["required"] = True
        if field.rule.sort in _MODES:
            attributes["inputmode"] = _MODES[field.rule.sort]
        if field.rule.sort == "date":
            attributes["type"] = "date"
        return forms.TextInput(attributes)


def query_request(operation: Operation, account: Account, data: QueryDict, **address: str) -> tuple[Any, Any]:
    """Return the request of a form without fields of its own, such as a button, and the object of the
    permission; `address` are fields from the page's address. Raises Invalid."""
    values = data.copy()
    for name, text in address.items():
        values[name] = text
    form = RequestForm(operation, account, values, only_fields=values.keys())
    if not form.is_valid():
        assert form.invalid is not None
        raise form.invalid
    return form.request, form.row


def say_sheet(request: HttpRequest, result: Any) -> None:
    """Show a message about what an import found, took and left, if `result` has a balance sheet; unused
    things are a warning."""
    sheet = getattr(result, "sheet", None)
    if sheet is not None and sheet.lines:
        say = messages.warning if sheet.unused else messages.info
        say(request, " · ".join(sheet_text(sheet)))


def _words(field: RequestField, text: str) -> list[str]:
    """Return the words of a field: separated by commas, else by spaces."""
    parts = text.split(",") if "," in text or field.only_commas else text.split()
    return [part.strip() for part in parts if part.strip()]


def _clean(text: str) -> str:
    """Return a text without null characters, which no database stores, and without surrounding spaces."""
    return text.replace("\0", "").strip()


def _drop(table: dict[str, Any], name: str) -> None:
    """Remove a value from a table, and the tables that become empty."""
    first, dot, rest = name.partition(".")
    inner = table.get(first)
    if dot and isinstance(inner, dict):
        _drop(inner, rest)
    if not dot or inner == {}:
        table.pop(first, None)
