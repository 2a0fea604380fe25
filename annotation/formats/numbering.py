"""Whole numbers for formats that know things by them: the source's where it gave some, else 1, 2, 3, ..."""

import re

_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


def is_number(id: str) -> bool:
    """Whether `id` is a whole number as JSON prints it."""
    return _NUMBER.fullmatch(id) is not None


class Numbering:
    """One run of numbers. The first id decides: a number means that all are kept, else all are replaced.

    With `unique`, a number that is kept a second time is refused. Those given are remembered in sets of 64
    neighbours, of which ids that run on need one bit each.
    """

    def __init__(self, first: int = 1, *, unique: bool = False) -> None:
        self._next = first
        self._kept: bool | None = None
        self._given: dict[int, int] | None = {} if unique else None

    def number(self, id: str) -> int:
        """The number for `id`.

        Raises ValueError where earlier ids were numbers and this is none, or where it comes a second time.
        """
        if self._kept is None:
            self._kept = is_number(id)
        if self._kept:
            if not is_number(id):
                raise ValueError(f"has the id {id!r} where earlier ones are whole numbers")
            if self._given is not None:
                at, bit = divmod(int(id), 64)
                if self._given.get(at, 0) >> bit & 1:
                    raise ValueError(f"has the id {id!r}, as an earlier one has")
                self._given[at] = self._given.get(at, 0) | 1 << bit
            return int(id)
        self._next += 1
        return self._next - 1
