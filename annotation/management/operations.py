"""Commands generated from operations: options from the request's fields, text or JSON from its result."""

import json
import tomllib
from argparse import BooleanOptionalAction
from collections.abc import Iterable
from dataclasses import is_dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast

from django.core.management.base import CommandError, CommandParser
from django.db.models import QuerySet
from django.utils import translation

from annotation.common.operations import (
    FieldError,
    File,
    Invalid,
    Listing,
    NewFile,
    Operation,
    OperationContext,
    Pages,
    RequestField,
    invalid,
    read_request,
    request_fields,
    result_to_dict,
    sheet_text,
)
from annotation.common.plain_text import text_table
from annotation.images.pictures import picture_path
from annotation.management.base import ReportCommand, move_bar, progress_bar

#: The last step of the bar.
_PER_CENT = 100
#: Number of rows of a list that are read at a time.
_ROWS = 500


class OperationCommand(ReportCommand):
    """The command that runs an operation at once, with the permissions of the server's operator."""

    def __init__(self, operation: Operation) -> None:
        super().__init__()
        self.operation = operation
        with translation.override("en"):
            about = " ".join((operation.request.__doc__ or "").split())
            self.help = f"{operation.title}. {about}".strip()
        self.expected_errors = (*operation.errors, OSError, tomllib.TOMLDecodeError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        assert self.operation.command is not None
        for field in request_fields(self.operation.request).values():
            positional = field.name in self.operation.positional
            _add_field(parser, field, positional=positional)
        if self.operation.listed:
            parser.add_argument("--limit", type=int, metavar="NUMBER", help="List so many at most")
        for layout in self.operation.command.layouts:
            parser.add_argument(f"--{layout}", action="store_true", help=f"Print the result as {layout}")
        if isinstance(self.operation.result, File):
            parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="The new file")
        elif out := self.operation.command.out:
            parser.add_argument("--out", type=Path, required=True, metavar="DIR", help=out)

    def handle(self, *args: Any, **options: Any) -> None:
        assert self.operation.command is not None
        layouts = self.operation.command.layouts
        chosen = [name for name in ("json", *layouts) if options[name.replace("-", "_")]]
        if len(chosen) > 1:
            raise CommandError(f"--{' and --'.join(chosen)}: use only one of them")
        self.layout = "".join(chosen)
        self.text = self.operation.command.text if not chosen else layouts.get(chosen[0])
        super().handle(*args, **options)

    def report(self, **options: Any) -> dict[str, Any]:
        fields = request_fields(self.operation.request)
        kind_of_result = self.operation.result
        if isinstance(kind_of_result, File) and not kind_of_result.replaces and Path(options["out"]).exists():
            raise CommandError(f"{options['out']}: already exists; expected a new file")
        try:
            values = {name: options[name] for name in fields if options[name] is not None}
            data = {name: _value(fields[name], value) for name, value in values.items()}
            request = read_request(self.operation.request, data)
            self.operation.authorize(request, None)
            with progress_bar(what=self.operation.name, total=_PER_CENT, unit=" %") as bar:
                context = OperationContext(
                    by_path=True,
                    picture=lambda name: str(picture_path(name)),
                    out=options.get("out"),
                    listener=lambda phase, share: move_bar(
                        bar, round(_PER_CENT * share), _PER_CENT, what=phase
                    ),
                )
                self.result = self.operation.run(request, context)
                if isinstance(self.result, NewFile):
                    self.result = _write(self.result, Path(options["out"]))
        except Invalid as error:
            raise CommandError("\n".join(self._line(field_error) for field_error in error.errors)) from error
        if isinstance(self.operation.result, File):
            more = result_to_dict(self.result) if is_dataclass(self.result) else {}
            return {"file": str(options["out"]), **more}
        if isinstance(self.result, Listing):
            rows = islice(_ordered(self.result), options["limit"])
            return {"results": [result_to_dict(self.result.result(row)) for row in rows]}
        if isinstance(self.result, Pages):
            return {"results": list(map(result_to_dict, islice(self.result.every(_ROWS), options["limit"])))}
        return result_to_dict(self.result) if self.result is not None else {"done": self.operation.name}

    def show(self, report: dict[str, Any]) -> str:
        if self.text is not None:
            sheet = None if self.layout else getattr(self.result, "sheet", None)
            return "\n".join([self.text(self.result), *(sheet_text(sheet) if sheet is not None else ())])
        return _rows_text(report["results"]) if self.operation.listed else super().show(report)

    def _line(self, error: FieldError) -> str:
        """Return the error of an option, with the option's name."""
        name, *location = error.field.split(".")
        assert self.operation.command is not None
        option = name if name in self.operation.positional else f"--{name.replace('_', '-')}"
        number = f" ({int(location[0]) + 1}.)" if location and location[0].isdigit() else ""
        return f"{option}{number or '.'.join(['', *location])}: {error.detail}"


def _write(file: NewFile, out: Path) -> Any:
    """Make a file, completely or not at all; return the result of writing it."""
    partial = out.with_name(f".partial-{out.name}")
    try:
        result = file.write(partial)
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)
    return result


def _ordered(listing: Listing) -> Iterable[Any]:
    rows, by = listing.rows, listing.by
    if isinstance(rows, QuerySet):
        return rows.order_by(cast(str, by)).iterator(_ROWS)
    return sorted(rows, key=cast(Any, by))


def _rows_text(rows: list[dict[str, Any]]) -> str:
    """Return rows as a table, for results that are no table."""
    if not rows:
        return "none"
    columns = [name for name, value in rows[0].items() if not isinstance(value, dict | list)]
    cells = [["" if row[name] is None else row[name] for name in columns] for row in rows]
    return text_table(columns, cells)


def _add_field(parser: CommandParser, field: RequestField, *, positional: bool) -> None:
    """Add the option or argument of a field."""
    option = field.name if positional else f"--{field.name.replace('_', '-')}"
    about: dict[str, Any] = {"help": _help(field), "default": None}
    if field.rule.sort == "boolean":
        about["required"] = field.required
        parser.add_argument(option, action=BooleanOptionalAction, **about)
        return
    if field.rule.sort == "object":
        about |= {"nargs": "+", "metavar": "FILE.toml|KEY=VALUE"}
    if field.upload is not None:
        about["metavar"] = "FILE"
    if field.many:
        about |= {"nargs": "+" if field.rule.least else "*"}
    elif positional and not field.required:
        about["nargs"] = "?"
    if not positional:
        about |= {"dest": field.name, "required": field.required}
    if (named := field.named) is not None and named.kind is not None:
        with translation.override("en"):
            about.setdefault("metavar", str(named.kind.title).upper().replace(" ", "_"))
    parser.add_argument(option, **about)


def _help(field: RequestField) -> str:
    """Return the line of help of a field, with its choices and its default."""
    with translation.override("en"):
        label, text = str(field.label).rstrip("."), str(field.help)
    words = f"{label}. {text}" if text else label
    if field.one_of is not None:
        words += f"; one of: {', '.join(field.one_of.choices())}"
    if field.default not in (None, "", (), {}) and field.rule.sort != "boolean":
        words += f" (default: {field.default})"
    return words.replace("%", "%%")


def _value(field: RequestField, value: Any) -> Any:
    """Return an argument in JSON form."""
    if field.rule.sort == "object":
        return _table(field, list(map(str, value)) if isinstance(value, list | tuple) else [str(value)])
    if isinstance(value, list):
        texts = [part for text in value for part in _parts(field, text)]
        return [field.read_text(text) if isinstance(text, str) else text for text in texts]
    value = str(value) if isinstance(value, Path) else value
    return field.read_text(value) if isinstance(value, str) else value


def _parts(field: RequestField, text: Any) -> list[Any]:
    """Return the parts of an argument, separated by commas; names of uploaded or existing files and JSON
    lists may contain commas."""
    nested = field.rule.element is not None and field.rule.element.sort == "array"
    if not isinstance(text, str) or field.upload is not None or nested:
        return [text]
    if field.server_file is not None and Path(text).exists():
        return [text]
    return [part.strip() for part in text.split(",") if part.strip()]


def _table(field: RequestField, texts: list[str]) -> dict[str, Any]:
    """Return a table from a TOML file, or from arguments KEY=VALUE, in which a value that is no TOML is a
    text."""
    if len(texts) == 1 and "=" not in texts[0]:
        return tomllib.loads(Path(texts[0]).read_text(encoding="utf-8"))
    try:
        return tomllib.loads("\n".join(map(_toml_line, texts)))
    except tomllib.TOMLDecodeError as error:
        raise invalid(field.name, "toml", message=error) from error


def _toml_line(text: str) -> str:
    key, _sign, value = text.partition("=")
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return f"{key}={json.dumps(value)}"
    return text
