"""Dependency parses in CoNLL-U, read sentence by sentence.

The name of a sentence is its comment `# sent_id = ...`. Of its ten columns ID, FORM, HEAD and DEPREL are
read; multiword tokens (`1-2`) and empty nodes (`1.1`) are skipped. Source:
https://universaldependencies.org/format.html
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from phrasebox.text_files import FormatError, lines, short_repr

_COLUMNS = 10
_ID, _FORM, _HEAD, _RELATION = 0, 1, 6, 7


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """The words in order, and for each the number of its head, counted from 1 (0: it is the root), and its
    relation."""

    id: str
    forms: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]


def read_conllu(path: Path) -> Iterator[ParsedSentence]:
    """Yield each sentence of a file, which may be compressed by gzip.

    Raises FormatError, with the line, for a sentence without a name, for invalid columns, numbers and heads,
    and for parses that are no tree.
    """
    name, rows, began = "", list[tuple[str, int, str]](), 1
    for number, text in lines(path):
        if not text.strip():
            if rows:
                yield _sentence(name, rows, path, began)
            name, rows = "", []
        elif text.startswith("#"):
            key, _, value = text[1:].partition("=")
            if key.strip() == "sent_id":
                name = value.strip()
        else:
            began = number if not rows else began
            row = _row(text, len(rows) + 1, path, number)
            rows += [row] if row else []
    if rows:
        yield _sentence(name, rows, path, began)


def _row(text: str, expected: int, path: Path, number: int) -> tuple[str, int, str] | None:
    """Return form, head and relation of a line; None for one that is no token."""
    cells = text.split("\t")
    if len(cells) != _COLUMNS:
        raise FormatError(
            f"has {len(cells)} columns", file=path, line=number, expected=f"{_COLUMNS}, separated by tabs"
        )
    if "-" in cells[_ID] or "." in cells[_ID]:
        return None
    if cells[_ID] != str(expected):
        raise FormatError(
            f"has the ID {short_repr(cells[_ID])}", file=path, line=number, expected=str(expected)
        )
    if not cells[_HEAD].isdecimal():
        raise FormatError(
            f"has the head {short_repr(cells[_HEAD])}", file=path, line=number, expected="a number, 0 or more"
        )
    return cells[_FORM], int(cells[_HEAD]), cells[_RELATION]


def _sentence(name: str, rows: list[tuple[str, int, str]], path: Path, line: int) -> ParsedSentence:
    forms, heads, relations = zip(*rows, strict=True)
    if not name:
        raise FormatError("begins a sentence without a name", file=path, line=line, expected="# sent_id = ID")
    if max(heads) > len(heads):
        raise FormatError(
            f"sentence {short_repr(name)} has a head {max(heads)} and {len(heads)} words",
            file=path,
            line=line,
            expected="heads within the sentence",
        )
    # In each step all words move closer to the root, or around a cycle.
    above = list(heads)
    for _ in heads:
        above = [heads[head - 1] if head else 0 for head in above]
    if any(above) or heads.count(0) != 1:
        raise FormatError(
            f"sentence {short_repr(name)} is no tree", file=path, line=line, expected="one root, no circle"
        )
    return ParsedSentence(name, tuple(forms), tuple(heads), tuple(relations))
