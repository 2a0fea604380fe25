"""Dependency parses of the captions, as the grammar that wrote them knows them, and their CoNLL-U.

A sentence is read once from left to right. What the grammar knows are its noun phrases (mentions), its verbs,
and where a new part begins (a place, what stands around). Relations have the names of Universal Dependencies.
A noun before a noun is not told apart from an adjective; tags and features are left open.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scenes.captions import Sentence
from scenes.referents import NUMBERS

_DETERMINERS = frozenset(("a", "an", "the", "another", "both", "each", "several", "many"))
_POSSESSIVES = frozenset(("his", "her", "their", "its"))
_AUXILIARIES = frozenset(("is", "are"))
_SUBORDINATORS = frozenset(("while", "as"))
_PLACES = frozenset(("inside", "indoors", "outside", "outdoors"))
_SIGNS = frozenset((".", ","))
#: The relation of a head that depends on nothing, and the number that stands for its head.
_ROOT, _NOTHING = "root", -1


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Of each word the place of its head, counted from 0 (-1: it is the root), and its relation to that."""

    heads: tuple[int, ...]
    relations: tuple[str, ...]


def dependencies(sentence: Sentence) -> Dependencies:
    """The tree of a sentence that the grammar wrote."""
    reading = _Reading(sentence)
    ends = {start: end for _, start, end in sentence.mentions}
    place = 0
    while place < len(sentence.words):
        if place in sentence.parts:
            reading.begin_part()
        if place in ends:
            reading.noun_phrase(place, ends[place])
            place = ends[place]
            continue
        if place in sentence.verbs:
            reading.verb_at(place)
        else:
            reading.other_word(place)
        place += 1
    return reading.tree()


def conllu_of(name: str, sentences: Sequence[Sentence]) -> Iterator[str]:
    """The parses of an image's captions, which are named `name`#0, `name`#1 and so on, as CoNLL-U."""
    for number, sentence in enumerate(sentences):
        tree = dependencies(sentence)
        yield f"# sent_id = {name}#{number}\n# text = {' '.join(sentence.words)}\n"
        for place, (word, head, relation) in enumerate(
            zip(sentence.words, tree.heads, tree.relations, strict=True), start=1
        ):
            yield f"{place}\t{word}\t_\t_\t_\t_\t{head + 1}\t{relation}\t_\t_\n"
        yield "\n"


@dataclass
class _Reading:
    """A sentence as far as it was read. `waiting` are words whose head is still to come."""

    sentence: Sentence
    heads: dict[int, int] = field(default_factory=dict)
    relations: dict[int, str] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)
    fronted: list[int] = field(default_factory=list)
    subject: int | None = None
    noun: int | None = None
    verb: int | None = None
    object_known: bool = False
    subordinator: int | None = None
    root: int | None = None

    def link(self, place: int, head: int, relation: str) -> None:
        self.heads[place], self.relations[place] = head, relation

    def word(self, place: int) -> str:
        return self.sentence.words[place].lower()

    def said(self, words: frozenset[str]) -> bool:
        """Whether one word is waiting, and is one of these."""
        return len(self.waiting) == 1 and self.word(self.waiting[0]) in words

    def noun_phrase(self, start: int, end: int) -> None:
        """A mention with all its words."""
        head = self._inside(start, end)
        if self.said(frozenset(("and",))) and self.noun is not None:
            self.link(self.waiting[0], head, "cc")
            self.link(head, self.noun, "conj")
        elif len(self.waiting) == 1 and self.word(self.waiting[0]).endswith("ing"):
            self._participle(self.waiting[0])
            self.link(head, self.waiting[0], "obj")
        elif self.waiting:
            for place in self.waiting:
                self.link(place, head, "case")
            self._oblique(head)
        elif self.verb is not None:
            where = self.word(head) in _PLACES
            self.link(head, self.verb, "advmod" if where else "obl" if self.object_known else "obj")
            self.object_known = self.object_known or not where
        elif self.root is not None and self.subordinator is None:
            self.link(head, self.root, "nsubj")  # "there is a man"
            self.subject = head
        else:
            self.subject = head
        self.waiting, self.noun = [], head

    def _participle(self, place: int) -> None:
        """Of the verb, or of the noun before ("a man wearing a hat")."""
        if self.verb is not None:
            self.link(place, self.verb, "advcl")
        elif self.noun is not None:
            self.link(place, self.noun, "acl")

    def _oblique(self, head: int) -> None:
        """A noun phrase after a preposition: of the verb, of the noun before, or of a verb still to come."""
        if self.verb is not None:
            self.link(head, self.verb, "obl")
        elif self.noun is not None:
            self.link(head, self.noun if self.subject is None else self.subject, "nmod")
        else:
            self.fronted.append(head)

    def _inside(self, start: int, end: int) -> int:
        """Link the words of a noun phrase; returns the place of its head."""
        of = next((place for place in range(start + 1, end) if self.word(place) == "of"), None)
        if of is not None:
            head, inner = self._inside(start, of), self._inside(of + 1, end)
            self.link(of, inner, "case")
            self.link(inner, head, "nmod")
            return head
        head = end - 1
        for place in range(start, head):
            word = self.word(place)
            joined = place > start + 1 and self.word(place - 1) == "and"
            if word == "and":
                self.link(place, place + 1, "cc")
            elif joined:
                self.link(place, place - 2, "conj")
            else:
                self.link(place, head, _relation_within(word))
        return head

    def verb_at(self, place: int) -> None:
        """A verb, perhaps after its auxiliary."""
        progressive = self.said(_AUXILIARIES)
        first = self.verb is None
        for before in self.waiting:
            word = self.word(before)
            kind = "aux" if progressive else "cc" if word == "and" else "mark"
            self.link(before, place, kind)
        joined = bool(self.waiting) and self.word(self.waiting[-1]) == "and"
        self.waiting = []
        if first:
            self._first_verb(place, participle=self.word(place).endswith("ing") and not progressive)
        else:
            assert self.verb is not None
            self.link(place, self.verb, "conj" if joined else "xcomp")
        self.verb, self.object_known = place, False

    def _first_verb(self, place: int, *, participle: bool) -> None:
        subject = self.subject
        if self.subordinator is not None:
            assert self.root is not None
            self.link(self.subordinator, place, "mark")
            self.link(place, self.root, "advcl")
        elif participle and subject is not None:
            if self.root is None:
                self._become_root(subject)
            self.link(place, subject, "acl")
            subject = None
        else:
            self._become_root(place)
        if subject is not None:
            self.link(subject, place, "nsubj")
        for head in self.fronted:
            self.link(head, place, "obl")
        self.fronted = []

    def _become_root(self, place: int) -> None:
        self.root = place
        self.link(place, _NOTHING, _ROOT)

    def other_word(self, place: int) -> None:
        """A preposition, an adverb, a conjunction or a sign."""
        word = self.word(place)
        if word in _SUBORDINATORS and self.root is not None:
            self.close_part()
            self.subordinator = place
            self.subject = self.noun = self.verb = None
        elif word in _SIGNS:
            self.close_part()
            self.noun = None
        elif word in _AUXILIARIES and self.word(0) == "there" and place == 1:
            self._become_root(place)
            self.link(0, place, "expl")
            self.waiting = []
        else:
            self.waiting.append(place)

    def begin_part(self) -> None:
        """A place, or a further subject, begins here."""
        self.close_part()
        if self.verb is None and self.subject is not None:
            self.noun = self.subject

    def close_part(self) -> None:
        """No noun phrase comes any more for the words that are waiting."""
        words, self.waiting = self.waiting, []
        above = self.verb if self.verb is not None else self.subject
        if not words or above is None:
            return
        *before, last = words
        if any(self.word(place) in _DETERMINERS for place in before):  # "in the background"
            for place in before:
                self.link(place, last, "det" if self.word(place) in _DETERMINERS else "case")
            self.link(last, above, "obl")
            return
        for place in words:
            self.link(place, above, "advmod")

    def tree(self) -> Dependencies:
        """What was read, with signs at the root."""
        self.close_part()
        if self.root is None:
            self._become_root(self.subject if self.subject is not None else 0)
        assert self.root is not None
        places = range(len(self.sentence.words))
        for place in places:
            if place not in self.heads:
                self.link(place, self.root, "punct" if self.word(place) in _SIGNS else "dep")
        return Dependencies(
            tuple(self.heads[place] for place in places), tuple(self.relations[place] for place in places)
        )


def _relation_within(word: str) -> str:
    """The relation of a word to the noun that ends its phrase."""
    if word in _DETERMINERS:
        return "det"
    if word in _POSSESSIVES:
        return "nmod:poss"
    return "nummod" if word in NUMBERS else "amod"
