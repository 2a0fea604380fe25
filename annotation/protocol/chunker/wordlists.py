"""Word lists in `data/`: plain text, words separated by white space, `#` starts a comment line."""

from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data"


@cache
def sections(name: str) -> dict[str, frozenset[str]]:
    """Return the list `name` by section: a line `[title]` starts one; words before any have the title ""."""
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
    """Return all words of the list `name`."""
    return frozenset().union(*sections(name).values())
