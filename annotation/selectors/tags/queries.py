"""Queries for images by their tags: `frisbee and dog`, `"soccer field" or kite`.

`and` may be omitted, and binds closer than `or`; a compound is quoted. Case is ignored.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

#: Maximum number of tags in a query.
MOST_TAGS = 20

_PART = re.compile(r'\s*(?:"([^"]*)"|“([^”]*)”|([^\s"“]+))')


class BadTagQuery(ValueError):
    """An invalid query; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class TagQuery:
    """Matches images that have all tags of one of the `choices`."""

    choices: tuple[tuple[str, ...], ...]

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags without duplicates, in order."""
        return tuple(dict.fromkeys(tag for choice in self.choices for tag in choice))


def read_tag_query(text: str) -> TagQuery | None:
    """Return the query of a text; None for an empty one. Raises BadTagQuery.

    >>> read_tag_query('frisbee and Dog or "soccer  field"').choices
    (('frisbee', 'dog'), ('soccer field',))
    """
    choices: list[list[str]] = [[]]
    waits = ""  # the word that a tag must follow
    for word, quoted in _parts(text):
        joins = not quoted and word in ("and", "or")
        if joins and (waits or not choices[-1]):
            raise BadTagQuery(_("“%(word)s” must stand between two tags.") % {"word": word})
        if joins:
            waits = word
            if word == "or":
                choices.append([])
            continue
        waits = ""
        choices[-1].append(word)
    if waits:
        raise BadTagQuery(_("“%(word)s” must stand between two tags.") % {"word": waits})
    if not choices[-1]:
        return None
    query = TagQuery(tuple(tuple(dict.fromkeys(choice)) for choice in choices))
    if len(query.tags) > MOST_TAGS:
        raise BadTagQuery(_("Name at most %(most)d tags.") % {"most": MOST_TAGS})
    return query


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each word or quoted phrase in lower case, with single spaces; and whether it was quoted."""
    text, at = text.strip(), 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None:
            raise BadTagQuery(_("A quotation mark is missing: put a compound between two."))
        at = match.end()
        quoted = match[3] is None
        word = " ".join((match[1] or match[2] or match[3] or "").lower().split())
        if not word:
            raise BadTagQuery(_("There is nothing between two quotation marks: put a tag there."))
        yield word, quoted


def written_tag(tag: str) -> str:
    """Return a tag as written in a query: quoted if it is more than a word, or a connective."""
    return f'"{tag}"' if " " in tag or tag in ("and", "or") else tag
