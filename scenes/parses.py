"""Dependency parses of the captions, derived from the grammar that wrote them, and their CoNLL-U.

A sentence is read once from left to right. The grammar provides its noun phrases (mentions), its verbs, and
where a new part begins (a place, or surroundings). Relations are named as in Universal Dependencies. A noun
before a noun is treated like an adjective; tags and features are empty.
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
#: The relation of the root, and the number that represents its head.
_ROOT, _NOTHING = "root", -1


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The position of each word's head, counted from 0 (-1: it is the root), and its relation."""

    heads: tuple[int, ...]
    relations: tuple[str, ...]


def dependencies(sentence: Sentence) -> Dependencies:
    """Return the tree of a sentence that the grammar wrote."""
    reading = _Reading(sentence)
    ends = {start: end for _, start, end in sentence.mentions}
    index = 0
    while index < len(sentence.words):
        if index in sentence.parts:
            reading.begin_part()
        if index in ends:
            reading.noun_phrase(index, ends[index])
            index = ends[index]
            continue
        if index in sentence.verbs:
            reading.verb_at(index)
        else:
            reading.other_word(index)
        index += 1
    return reading.tree()


def conllu_of(name: str, sentences: Sequence[Sentence]) -> Iterator[str]:
    """Yield the parses of an image's captions, named `name`#0, `name`#1 and so on, as CoNLL-U."""
    for number, sentence in enumerate(sentences):
        tree = dependencies(sentence)
        yield f"# sent_id = {name}#{number}\n# text = {' '.join(sentence.words)}\n"
        for index, (word, head, relation) in enumerate(
            zip(sentence.words, tree.heads, tree.relations, strict=True), start=1
        ):
            yield f"{index}\t{word}\t_\t_\t_\t_\t{head + 1}\t{relation}\t_\t_\n"
        yield "\n"


@dataclass
class _Reading:
    """A partially read sentence. `waiting` are words whose head is still to come."""

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

    def link(self, index: int, head: int, relation: str) -> None:
        self.heads[index], self.relations[index] = head, relation

    def word(self, index: int) -> str:
        return self.sentence.words[index].lower()

    def is_any_of(self, words: frozenset[str]) -> bool:
        """Whether exactly one word is waiting, and is one of these."""
        return len(self.waiting) == 1 and self.word(self.waiting[0]) in words

    def noun_phrase(self, start: int, end: int) -> None:
        """Read a mention with all its words."""
        head = self._inside(start, end)
        if self.is_any_of(frozenset(("and",))) and self.noun is not None:
            self.link(self.waiting[0], head, "cc")
            self.link(head, self.noun, "conj")
        elif len(self.waiting) == 1 and self.word(self.waiting[0]).endswith("ing"):
            self._participle(self.waiting[0])
            self.link(head, self.waiting[0], "obj")
        elif self.waiting:
            for index in self.waiting:
                self.link(index, head, "case")
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

    def _participle(self, index: int) -> None:
        """Attach to the verb, or to the previous noun ("a man wearing a hat")."""
        if self.verb is not None:
            self.link(index, self.verb, "advcl")
        elif self.noun is not None:
            self.link(index, self.noun, "acl")

    def _oblique(self, head: int) -> None:
        """Read a noun phrase after a preposition: of the verb, of the previous noun, or of a later verb."""
        if self.verb is not None:
            self.link(head, self.verb, "obl")
        elif self.noun is not None:
            self.link(head, self.noun if self.subject is None else self.subject, "nmod")
        else:
            self.fronted.append(head)

    def _inside(self, start: int, end: int) -> int:
        """Link the words of a noun phrase; return the position of its head."""
        of = next((index for index in range(start + 1, end) if self.word(index) == "of"), None)
        if of is not None:
            head, inner = self._inside(start, of), self._inside(of + 1, end)
            self.link(of, inner, "case")
            self.link(inner, head, "nmod")
            return head
        head = end - 1
        for index in range(start, head):
            word = self.word(index)
            joined = index > start + 1 and self.word(index - 1) == "and"
            if word == "and":
                self.link(index, index + 1, "cc")
            elif joined:
                self.link(index, index - 2, "conj")
            else:
                self.link(index, head, _relation_within(word))
        return head

    def verb_at(self, index: int) -> None:
        """Read a verb, possibly after its auxiliary."""
        progressive = self.is_any_of(_AUXILIARIES)
        first = self.verb is None
        for before in self.waiting:
            word = self.word(before)
            kind = "aux" if progressive else "cc" if word == "and" else "mark"
            self.link(before, index, kind)
        joined = bool(self.waiting) and self.word(self.waiting[-1]) == "and"
        self.waiting = []
        if first:
            self._first_verb(index, participle=self.word(index).endswith("ing") and not progressive)
        else:
            assert self.verb is not None
            self.link(index, self.verb, "conj" if joined else "xcomp")
        self.verb, self.object_known = index, False

    def _first_verb(self, index: int, *, participle: bool) -> None:
        subject = self.subject
        if self.subordinator is not None:
            assert self.root is not None
            self.link(self.subordinator, index, "mark")
            self.link(index, self.root, "advcl")
        elif participle and subject is not None:
            if self.root is None:
                self._become_root(subject)
            self.link(index, subject, "acl")
            subject = None
        else:
            self._become_root(index)
        if subject is not None:
            self.link(subject, index, "nsubj")
        for head in self.fronted:
            self.link(head, index, "obl")
        self.fronted = []

    def _become_root(self, index: int) -> None:
        self.root = index
        self.link(index, _NOTHING, _ROOT)

    def other_word(self, index: int) -> None:
        """Read a preposition, an adverb, a conjunction or a punctuation mark."""
        word = self.word(index)
        if word in _SUBORDINATORS and self.root is not None:
            self.close_part()
            self.subordinator = index
            self.subject = self.noun = self.verb = None
        elif word in _SIGNS:
            self.close_part()
            self.noun = None
        elif word in _AUXILIARIES and self.word(0) == "there" and index == 1:
            self._become_root(index)
            self.link(0, index, "expl")
            self.waiting = []
        else:
            self.waiting.append(index)

    def begin_part(self) -> None:
        """Begin a new part: a place, or a further subject."""
        self.close_part()
        if self.verb is None and self.subject is not None:
            self.noun = self.subject

    def close_part(self) -> None:
        """Close a part: no further noun phrase follows for the waiting words."""
        words, self.waiting = self.waiting, []
        above = self.verb if self.verb is not None else self.subject
        if not words or above is None:
            return
        *before, last = words
        if any(self.word(index) in _DETERMINERS for index in before):  # "in the background"
            for index in before:
                self.link(index, last, "det" if self.word(index) in _DETERMINERS else "case")
            self.link(last, above, "obl")
            return
        for index in words:
            self.link(index, above, "advmod")

    def tree(self) -> Dependencies:
        """Return the tree, with punctuation attached to the root."""
        self.close_part()
        if self.root is None:
            self._become_root(self.subject if self.subject is not None else 0)
        assert self.root is not None
        places = range(len(self.sentence.words))
        for index in places:
            if index not in self.heads:
                self.link(index, self.root, "punct" if self.word(index) in _SIGNS else "dep")
        return Dependencies(
            tuple(self.heads[index] for index in places), tuple(self.relations[index] for index in places)
        )


def _relation_within(word: str) -> str:
    """Return the relation of a word to the noun that ends its phrase."""
    if word in _DETERMINERS:
        return "det"
    if word in _POSSESSIVES:
        return "nmod:poss"
    return "nummod" if word in NUMBERS else "amod"
