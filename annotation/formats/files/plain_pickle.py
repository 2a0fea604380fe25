"""Read pickles of plain data without running code in them.

A pickle names classes and functions, and reading it calls them. Here every such name is rejected: lists,
dictionaries, texts, numbers and the like need none.
"""

import pickle
from pathlib import Path
from typing import Any, NoReturn

from phrasebox.text_files import FormatError, open_bytes, short_repr

_EXPECTED = "a pickle of lists, dictionaries, texts and numbers alone"


class _PlainUnpickler(pickle.Unpickler):
    """Rejects all names of modules' objects."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it names {short_repr(f'{module}.{name}')}, which reading it would run")


def read_plain_pickle(file: Path, *, expected: str = _EXPECTED) -> Any:
    """Return the data of a pickle; texts of Python 2 are UTF-8, else Latin-1. Raises FormatError for any
    other content."""
    try:
        try:
            return _load(file, "utf-8")
        except UnicodeDecodeError:
            return _load(file, "latin-1")
    except FormatError:
        raise
    # A damaged pickle raises almost anything.
    except Exception as error:
        text = " ".join(str(error).split())[:120] or type(error).__name__
        raise FormatError(f"is no pickle of plain data ({text})", file=file, expected=expected) from error


def _load(file: Path, encoding: str) -> Any:
    with open_bytes(file) as stream:
        return _PlainUnpickler(stream, encoding=encoding).load()
