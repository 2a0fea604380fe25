"""Fields of a JSON object, by name and type, and whole numbers that replace ids."""

import math
import re
from pathlib import Path
from typing import Any

from phrasebox.text_files import FormatError, short_repr

_REQUIRED: Any = object()
#: Largest number that databases and other readers store.
_GREATEST = 2**63 - 1


class Fields:
    """One JSON object.

    `what` names the object in messages ("image 12"). A missing field, or one of another type, raises
    FormatError.
    """

    def __init__(self, value: Any, *, what: str, file: Path, line: int | None = None) -> None:
        self.what = what
        self.file = file
        self.line = line
        if not isinstance(value, dict):
            raise self.refuse(f"is {short_repr(value)}", "an object")
        self.value = value

    def refuse(self, problem: str, expected: str) -> FormatError:
        """Return the error, to be raised, that names this object, its problem and what was expected."""
        return FormatError(f"{self.what}: {problem}", file=self.file, line=self.line, expected=expected)

    def _typed(self, key: str, kind: tuple[type, ...], word: str, default: Any) -> Any:
        if key not in self.value:
            if default is not _REQUIRED:
                return default
            raise self.refuse(f"{key!r} is missing", word)
        value = self.value[key]
        # Exact types, since in Python true is a number.
        if type(value) in kind:
            return value
        if int in kind and type(value) is float and value.is_integer():
            return int(value)  # a whole number with a decimal point
        raise self.refuse(f"{key!r} is {short_repr(value)}", word)

    def text(self, key: str, default: str = _REQUIRED) -> str:
        """Return the text of a field; `default`, if set, when it is missing."""
        return str(self._typed(key, (str,), "a string", default))

    def integer(self, key: str, default: int = _REQUIRED) -> int:
        """Return the whole number of a field, written 10 or 10.0; `default`, if set, when it is missing."""
        return int(self._typed(key, (int,), "a whole number", default))

    def number(self, key: str) -> float:
        """Return the finite number of a field."""
        value = float(self._typed(key, (int, float), "a number", _REQUIRED))
        if not math.isfinite(value):
            raise self.refuse(f"{key!r} is {value}", "a finite number")
        return value

    def flag(self, key: str, default: bool = _REQUIRED) -> bool:
        """Return the boolean of a field; `default`, if set, when it is missing."""
        return bool(self._typed(key, (bool,), "true or false", default))

    def identifier(self, key: str, default: str = _REQUIRED) -> str:
        """Return a whole number or a string, as a string; the number may be written 10.0 too."""
        value = self._typed(key, (int, str), "a whole number or a string", default)
        if type(value) is int and abs(value) > _GREATEST:
            raise self.refuse(f"{key!r} is {short_repr(value)}", f"at most {_GREATEST}, or a string")
        return str(value)

    def list(self, key: str, default: list[Any] = _REQUIRED) -> list[Any]:
        """Return the list of a field, with any elements; `default`, if set, when it is missing."""
        values: list[Any] = self._typed(key, (list,), "a list", default)
        return values

    def strings(self, key: str) -> tuple[str, ...]:
        """Return the list of texts of a field. Raises FormatError for other elements."""
        values = self.list(key)
        for entry in values:
            if type(entry) is not str:
                raise self.refuse(f"{key!r} holds {short_repr(entry)}", "strings only")
        return tuple(values)

    def only(self, *keys: str) -> None:
        """Raise FormatError if the object has a field of another name."""
        for key in self.value:
            if key not in keys:
                raise self.refuse(f"{short_repr(key)} is unknown", "only " + ", ".join(keys))


_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


def is_number(id: str) -> bool:
    """Whether `id` is a whole number in JSON's spelling."""
    return _NUMBER.fullmatch(id) is not None


class Numbering:
    """One sequence of numbers. The first id decides: if it is a number, all are kept, else all are replaced.

    With `unique`, a kept number is rejected the second time. Numbers are stored in sets of 64 neighbours, so
    that consecutive ids need one bit each.
    """

    def __init__(self, first: int = 1, *, unique: bool = False) -> None:
        self._next = first
        self._ids_are_numbers: bool | None = None
        self._used: dict[int, int] | None = {} if unique else None

    def number(self, id: str) -> int:
        """Return the number for `id`.

        Raises ValueError if earlier ids were numbers and this is none, or if it occurs a second time.
        """
        if self._ids_are_numbers is None:
            self._ids_are_numbers = is_number(id)
        if self._ids_are_numbers:
            if not is_number(id):
                raise ValueError(f"has the id {id!r} where earlier ones are whole numbers")
            if self._used is not None:
                at, bit = divmod(int(id), 64)
                if self._used.get(at, 0) >> bit & 1:
                    raise ValueError(f"has the id {id!r}, as an earlier one has")
                self._used[at] = self._used.get(at, 0) | 1 << bit
            return int(id)
        self._next += 1
        return self._next - 1
