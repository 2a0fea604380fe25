"""Commands made from operations: options from the request's fields, text or JSON from its result."""

import functools
import json
import tomllib
from argparse import BooleanOptionalAction
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast

from django.core import management
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
    all_operations,
    invalid,
    plain_result,
    read_request,
    request_fields,
)
from annotation.common.plain_text import plain_table
from annotation.images.pictures import picture_path
from annotation.management.base import ReportCommand, move_bar, progress_bar

#: The bar's steps.
_STEPS = 1000
#: Rows of a list that are read at once.
_ROWS = 500


class OperationCommand(ReportCommand):
    """The command that does an operation at once, as whoever runs commands on the server."""

    def __init__(self, operation: Operation) -> None:
        super().__init__()
        self.operation = operation
        with translation.override("en"):
            about = " ".join((operation.request.__doc__ or "").split())
            self.help = f"{operation.title}. {about}".strip()
        self.refusals = (*ReportCommand.refusals, *operation.errors, OSError, tomllib.TOMLDecodeError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        assert self.operation.command is not None
        for one in request_fields(self.operation.request).values():
            positional = one.name in self.operation.command.positional
            _add_field(parser, one, positional=positional)
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
        self.text = self.operation.command.text if not chosen else layouts.get(chosen[0])
        super().handle(*args, **options)

    def report(self, **options: Any) -> dict[str, Any]:
        fields = request_fields(self.operation.request)
        made = self.operation.result
        if isinstance(made, File) and not made.replaces and Path(options["out"]).exists():
            raise CommandError(f"{options['out']}: already exists; expected a new file")
        try:
            given = {name: options[name] for name in fields if options[name] is not None}
            data = {name: _value(fields[name], value) for name, value in given.items()}
            request = read_request(self.operation.request, data)
            self.operation.admit(request, None)
            with progress_bar(what="share", total=_STEPS) as bar:
                context = OperationContext(
                    by_path=True,
                    picture=lambda name: str(picture_path(name)),
                    out=options.get("out"),
                    listener=lambda phase, share: move_bar(bar, round(_STEPS * share), _STEPS, what=phase),
                )
                self.result = self.operation.run(request, context)
                if isinstance(self.result, NewFile):
                    self.result = _write(self.result, Path(options["out"]))
        except Invalid as error:
            raise CommandError("\n".join(self._line(one) for one in error.errors)) from error
        if isinstance(self.operation.result, File):
            more = plain_result(self.result) if is_dataclass(self.result) else {}
            return {"file": str(options["out"]), **more}
        if isinstance(self.result, Listing):
            rows = islice(_ordered(self.result), options["limit"])
            return {"results": [plain_result(self.result.result(row)) for row in rows]}
        if isinstance(self.result, Pages):
            return {"results": list(map(plain_result, islice(self.result.every(_ROWS), options["limit"])))}
        return plain_result(self.result) if self.result is not None else {"done": self.operation.name}

    def show(self, report: dict[str, Any]) -> str:
        if self.text is not None:
            return self.text(self.result)
        return _rows_text(report["results"]) if self.operation.listed else super().show(report)

    def _line(self, error: FieldError) -> str:
        """What is wrong with an option, as whoever typed it knows it."""
        name, *place = error.field.split(".")
        assert self.operation.command is not None
        option = name if name in self.operation.command.positional else f"--{name.replace('_', '-')}"
        number = f" ({int(place[0]) + 1}.)" if place and place[0].isdigit() else ""
        return f"{option}{number or '.'.join(['', *place])}: {error.detail}"


def _write(made: NewFile, out: Path) -> Any:
    """Make a file that is there whole, or not at all; what writing it returns."""
    partial = out.with_name(f".partial-{out.name}")
    try:
        result = made.write(partial)
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
    """Rows as a table, of what is no table itself."""
    if not rows:
        return "none"
    columns = [name for name, value in rows[0].items() if not isinstance(value, dict | list)]
    cells = [["" if row[name] is None else row[name] for name in columns] for row in rows]
    return plain_table(columns, cells)


def _add_field(parser: CommandParser, one: RequestField, *, positional: bool) -> None:
    """The option of a field, or its argument."""
    option = one.name if positional else f"--{one.name.replace('_', '-')}"
    about: dict[str, Any] = {"help": _help(one), "default": None}
    if one.rule.sort == "boolean":
        about["required"] = one.required
        parser.add_argument(option, action=BooleanOptionalAction, **about)
        return
    if one.rule.sort == "object":
        about |= {"nargs": "+", "metavar": "FILE.toml|KEY=VALUE"}
    if one.upload is not None:
        about["metavar"] = "FILE"
    if one.many:
        about |= {"nargs": "+" if one.rule.least else "*"}
    elif positional and not one.required:
        about["nargs"] = "?"
    if not positional:
        about |= {"dest": one.name, "required": one.required}
    if (named := one.named) is not None and named.kind is not None:
        with translation.override("en"):
            about.setdefault("metavar", str(named.kind.title).upper().replace(" ", "_"))
    parser.add_argument(option, **about)


def _help(one: RequestField) -> str:
    """The line of help of a field, with its choices and its default."""
    with translation.override("en"):
        label, text = str(one.label).rstrip("."), str(one.help)
    words = f"{label}. {text}" if text else label
    if one.one_of is not None:
        words += f"; one of: {', '.join(one.one_of.choices())}"
    if one.default not in (None, "", (), {}) and one.rule.sort != "boolean":
        words += f" (default: {one.default})"
    return words.replace("%", "%%")


def _value(one: RequestField, given: Any) -> Any:
    """What was typed, as JSON has it."""
    if one.rule.sort == "object":
        return _table(one, list(map(str, given)) if isinstance(given, list | tuple) else [str(given)])
    if isinstance(given, list):
        texts = [part for text in given for part in _parts(one, text)]
        return [one.read_text(text) if isinstance(text, str) else text for text in texts]
    given = str(given) if isinstance(given, Path) else given
    return one.read_text(given) if isinstance(given, str) else given


def _parts(one: RequestField, text: Any) -> list[Any]:
    """What one argument lists, separated by commas; a file's name may have some, and a list in the list."""
    nested = one.rule.element is not None and one.rule.element.sort == "array"
    if not isinstance(text, str) or one.upload is not None or one.server_file is not None or nested:
        return [text]
    return [part.strip() for part in text.split(",") if part.strip()]


def _table(one: RequestField, texts: list[str]) -> dict[str, Any]:
    """A table: of a TOML file, or of what was typed as KEY=VALUE, where a value that is no TOML is a text."""
    if len(texts) == 1 and "=" not in texts[0]:
        return tomllib.loads(Path(texts[0]).read_text(encoding="utf-8"))
    try:
        return tomllib.loads("\n".join(map(_toml_line, texts)))
    except tomllib.TOMLDecodeError as error:
        raise invalid(one.name, "toml", message=error) from error


def _toml_line(text: str) -> str:
    key, _sign, value = text.partition("=")
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return f"{key}={json.dumps(value)}"
    return text


class _Commands(dict[str, Any]):
    """Django's table of commands, and after it those of operations. They are looked for when somebody asks
    for a command that has no module, or for the whole table: their declarations import many services."""

    def __missing__(self, name: str) -> OperationCommand:
        for operation in all_operations():
            if operation.command is not None and operation.name == name:
                return OperationCommand(operation)
        raise KeyError(name)

    def items(self) -> Any:
        """Every command with the app that it is of."""
        declared = {one.name: one.app for one in all_operations() if one.command is not None}
        return {**dict(super().items()), **declared}.items()

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.items())


def offer_operations() -> None:
    """Let operations be commands, beside those that have a module of their own."""
    modules = management.get_commands

    @functools.cache
    def get_commands() -> dict[str, Any]:
        return _Commands(modules())

    management.get_commands = get_commands
