"""What both commands share: their options and output formats."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import TypeVar

from pydantic import TypeAdapter

from phrasebox.figure_tables import LAYOUTS, Table

_Result = TypeVar("_Result")
_FORMS = ("json", "csv", "latex")


def options_of(description: str, arguments: list[str] | None, **more: str) -> argparse.Namespace:
    """The folder, the form, and `more` options by name with their help."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", metavar="FLICKR8K", help="Flickr8k's text files")
    for name, help_text in more.items():
        parser.add_argument(f"--{name}", metavar="FOLDER", help=help_text)
    forms = parser.add_mutually_exclusive_group()
    for form in _FORMS:
        forms.add_argument(
            f"--{form}", dest="form", action="store_const", const=form, help=f"print as {form}"
        )
    return parser.parse_args(arguments)


def print_result(
    result: _Result,
    options: argparse.Namespace,
    *,
    text: Callable[[_Result], str],
    table: Callable[[_Result], Table],
) -> None:
    """Print a result as the options say: as text, as one JSON document, or as a table."""
    if options.form is None:
        print(text(result))
    elif options.form == "json":
        print(json.dumps(TypeAdapter(type(result)).dump_python(result, mode="json")))
    else:
        print(LAYOUTS.get(options.form)(table(result)))
