"""A caption with the C5 tags (British National Corpus) of its words, and predicates about them."""

from collections.abc import Sequence
from functools import cache

from annotation.protocol.chunker.wordlists import entries, sections

NOUN_TAGS = frozenset(("NN", "NN0", "NN1", "NN2", "NP0", "UNC", "ZZ0"))
ADJECTIVE_TAGS = frozenset(("AJ0", "AJC", "AJS", "ORD"))
NOMINAL_TAGS = NOUN_TAGS | ADJECTIVE_TAGS
DETERMINER_TAGS = frozenset(("AT0", "DPS", "DT0"))
BE_TAGS = frozenset(("VBZ", "VBB", "VBD", "VBN", "VBI", "VBG"))
FINITE_TAGS = frozenset(("VBZ", "VBB", "VBD", "VHZ", "VHB", "VHD", "VDZ", "VDB", "VDD", "VM0", "VVZ", "VVB"))
#: Tag of the positions before the first word and after the last.
END_TAG = "END"

_PLURALS = sections("caption_grammar.txt")["plural openers"]
_WEAR = sections("caption_grammar.txt")["wear"]


class TaggedCaption:
    """`words`, in lower case, and `tags`, which the correcting rules change in place."""

    def __init__(self, words: Sequence[str], tags: list[str]) -> None:
        self.words = words
        self.tags = tags

    def word(self, i: int) -> str:
        """Return word `i`, or "" outside the caption."""
        return self.words[i] if 0 <= i < len(self.words) else ""

    def tag(self, i: int) -> str:
        """Return tag `i`, or END outside the caption."""
        return self.tags[i] if 0 <= i < len(self.tags) else END_TAG

    def clause(self, at: int) -> range:
        """Return the clause around `at`, which needs one finite verb: up to a conjunction, a relative or a
        stop."""
        start, end = at, at + 1
        while start > 0 and not self._parts(start - 1):
            start -= 1
        while end < len(self.tags) and not self._parts(end):
            end += 1
        return range(start, end)

    def _parts(self, i: int) -> bool:
        return self.tags[i] in ("CJS", "CJT", "PNQ", "AVQ", "EX0") or self.words[i] in (
            ".",
            ";",
            "as",
            "while",
        )

    def has_finite(self, stretch: range) -> bool:
        """Whether `stretch` contains a finite verb."""
        return any(self.tags[j] in FINITE_TAGS for j in stretch)

    def phrase_start(self, at: int) -> int:
        """Return the start of the run of determiner, modifiers and nouns that ends before `at`; else `at`."""
        start = at
        while start > 0 and (
            self.tags[start - 1] in NOMINAL_TAGS | {"CRD"} or self._joins_modifiers(start - 1)
        ):
            start -= 1
        if start > 0 and self.tags[start - 1] in DETERMINER_TAGS:
            start -= 1
        return start

    def _joins_modifiers(self, i: int) -> bool:
        """Whether an "and" or a comma at `i` joins two adjectives: "red and white"."""
        joins = self.words[i] in ("and", ",") and self.tag(i + 1) in ADJECTIVE_TAGS
        return joins and (self.tag(i - 1) in ADJECTIVE_TAGS or self.is_colour(i - 1))

    def subject_numbers(self, stretch: range) -> frozenset[str]:
        """Return the possible numbers of the verb after the noun phrase that opens `stretch`; both after
        "of"."""
        end = stretch.start
        while end < stretch.stop and self.tags[end] in NOMINAL_TAGS | DETERMINER_TAGS | {"CRD"}:
            end += 1
        if end > stretch.start and end < stretch.stop and self.tags[end] == "PRF":
            return frozenset(("singular", "plural"))
        joined = end < stretch.stop and self.words[end] == "and"
        plural = self.tags[end - 1] in ("NN2", "NN0") or self.words[stretch.start] in _PLURALS
        return frozenset(("plural",) if end > stretch.start and (joined or plural) else ("singular",))

    def is_colour(self, i: int) -> bool:
        """Whether word `i` names a colour."""
        return self.word(i) in entries("colours.txt")

    def is_colour_of_clothes(self, i: int) -> bool:
        """Whether word `i` is a colour that may mean clothes: "in blue", "wearing red and black"."""
        if i < 1 or not self.is_colour(i):
            return False
        first = i
        while first >= 1 and (self.is_colour(first) or self.words[first] in ("and", ",")):
            first -= 1
        return self.tags[first] == "PRP" or self.words[first] in _WEAR or self.words[first] == "all"

    def is_person(self, i: int) -> bool:
        """Whether word `i` is a noun, or an adjective used as one, that names people ("an individual")."""
        return self.tag(i) in NOMINAL_TAGS and self.word(i) in _nouns(("people",))

    def is_animate_or_worn(self, i: int) -> bool:
        """Whether word `i` rarely modifies a noun: a person, an animal, clothes, a body part."""
        return self.word(i) in _nouns(("people", "animals", "clothing", "bodyparts"))


@cache
def _nouns(categories: tuple[str, ...]) -> frozenset[str]:
    return frozenset().union(*(sections("categories.txt")[category] for category in categories))
