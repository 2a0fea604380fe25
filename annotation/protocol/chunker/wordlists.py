"""The word lists in `data/`: plain text, words apart by white space, `#` opens a line of comment."""

from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data"


@cache
def sections(name: str) -> dict[str, frozenset[str]]:
    """The list `name`, by section: a line `[title]` opens one; what stands before any has the title ""."""
    title, lines_of = "", {"": set[str]()}
    for line in (DATA / name).read_text("utf-8").splitlines():
        line = line.strip()
        if line.startswith("["):
            title = line.strip("[]")
            lines_of[title] = set()
        elif not line.startswith("#"):
            lines_of[title].update(line.split())
    return {title: frozenset(words) for title, words in lines_of.items()}


@cache
def entries(name: str) -> frozenset[str]:
    """All words of the list `name`."""
    return frozenset().union(*sections(name).values())
