"""Referents of captions: visible objects, sets of them, and things without a box.

A referent becomes a coreference chain when a caption mentions it. Two referents never represent the same set
of objects, so all mentions of a chain refer to the same set of entities.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

from scenes.terms import ANIMALS, BODYPARTS, CLOTHING, PEOPLE, SCENE

#: Words with their weights.
Weighted = tuple[tuple[str, float], ...]

ADULTS = ("man", "woman", "old man", "old woman")

_PEOPLE: dict[str, Weighted] = {
    "man": (("man", 7), ("guy", 2), ("person", 1.2), ("gentleman", 0.4)),
    "woman": (("woman", 7), ("lady", 2), ("person", 1.2)),
    "old man": (("man", 6), ("person", 0.8), ("gentleman", 1)),
    "old woman": (("woman", 5), ("lady", 3), ("person", 0.6)),
    "boy": (("boy", 7), ("child", 2), ("kid", 1.5)),
    "girl": (("girl", 7), ("child", 2), ("kid", 1.0)),
    "baby": (("baby", 5), ("toddler", 3), ("child", 1.5), ("infant", 0.6)),
}

_POSSESSIVES = {
    "man": "his",
    "old man": "his",
    "boy": "his",
    "woman": "her",
    "old woman": "her",
    "girl": "her",
}

_IRREGULAR = {
    "man": "men", "woman": "women", "child": "children", "person": "people", "sheep": "sheep",
    "lady": "ladies", "baby": "babies", "gentleman": "gentlemen", "scarf": "scarves", "puppy": "puppies",
}  # fmt: skip

NUMBERS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


def plural(noun: str) -> str:
    """Return the plural of `noun` (possibly of several words)."""
    *before, last = noun.split(" ")
    if last in _IRREGULAR:
        last = _IRREGULAR[last]
    elif last.endswith(("s", "sh", "ch", "x")):
        last += "es"
    elif last.endswith("y") and last[-2] not in "aeiou":
        last = last[:-1] + "ies"
    else:
        last += "s"
    return " ".join([*before, last])


@dataclass(eq=False)
class Referent:
    """Anything a caption can mention. `key` is unique within the picture.

    In a template, `f"{thing}"` marks a mention of it; `f"{thing:own}"` one with "his", "her" or
    "their"; `f"{thing:the}"` a definite one.
    """

    key: int
    category: str

    @property
    def entities(self) -> tuple[Entity, ...]:
        """The visible objects that it represents; none for places and notions."""
        return ()

    @property
    def several(self) -> bool:
        """Whether its verb is plural."""
        return False

    @property
    def possessive(self) -> str:
        """The possessive that refers to it."""
        return "its"

    def __format__(self, style: str) -> str:
        return f"@{self.key}/{style}" if style else f"@{self.key}"


@dataclass(eq=False)
class Entity(Referent):
    """A visible object: the pixels of `parts`.

    `form` is "one" ("a ball"), "pair" ("glasses", "a pair of skis") or "mass" ("grass").
    """

    nouns: Weighted
    colour: str = ""
    adjectives: tuple[str, ...] = ()
    form: str = "one"
    parts: list[int] = field(default_factory=list)
    owner: ScenePerson | None = None

    @property
    def entities(self) -> tuple[Entity, ...]:
        return (self,)

    @property
    def several(self) -> bool:
        return self.form == "pair"


@dataclass(eq=False)
class ScenePerson(Entity):
    """A person. `worn` are the objects and features whose `owner` is this person."""

    kind: str = "man"
    role: Weighted = ()
    worn: list[Entity] = field(default_factory=list)
    features: list[Entity] = field(default_factory=list)

    @property
    def possessive(self) -> str:
        return _POSSESSIVES.get(self.kind, "its")

    @property
    def adult(self) -> bool:
        """Whether the person is grown up."""
        return self.kind in ADULTS


def people_nouns(kind: str, role: Weighted) -> Weighted:
    """Return the nouns for a person of `kind`; a role is half as likely as the plain nouns together."""
    nouns = _PEOPLE[kind]
    if not role:
        return nouns
    share = sum(w for _, w in nouns) * 0.5 / sum(w for _, w in role)
    return nouns + tuple((noun, w * share) for noun, w in role)


@dataclass(eq=False)
class Group(Referent):
    """Several objects that are mentioned together, each with its own box.

    `noun` is a role for people and the common noun for things; `bunch` another way to count them ("a flock
    of"); `fixed` gives the phrases themselves.
    """

    members: tuple[Entity, ...]
    noun: str = ""
    bunch: str = ""
    fixed: Weighted = ()
    worn: list[Group] = field(default_factory=list)

    @property
    def phrases(self) -> Weighted:
        """Return the phrases for the set, by its members."""
        if self.fixed:
            return self.fixed
        people = [m for m in self.members if isinstance(m, ScenePerson)]
        if people:
            return group_of_people(people, self.noun)
        return group_of_things(self.noun, self.members, bunch=self.bunch)

    def seen(self, keys: Container[int]) -> Group | None:
        """Return the set without the members whose keys are not in `keys`; None if fewer than two
        remain."""
        left = tuple(m for m in self.members if m.key in keys)
        return replace(self, members=left) if len(left) > 1 else None

    @property
    def entities(self) -> tuple[Entity, ...]:
        return self.members

    @property
    def several(self) -> bool:
        return True

    @property
    def possessive(self) -> str:
        return "their"


@dataclass(eq=False)
class Notion(Referent):
    """A place that is the whole scene (category scene), or something without a body: a game, a trick, fun."""

    phrases: Weighted

    @property
    def scene(self) -> bool:
        """Whether it is a place that is the whole scene."""
        return self.category == SCENE


#: Heads of group phrases with a singular verb ("a couple walks").
COLLECTIVE = frozenset(("couple", "family"))


def group_of_people(people: Sequence[ScenePerson], role: str = "") -> Weighted:
    """Return the phrases for a set of people, by number, age and sex."""
    count = len(people)
    number = NUMBERS[count]
    kinds = {p.kind for p in people}
    young = all(not p.adult for p in people)
    mixed = not young and any(not p.adult for p in people)
    nouns: list[tuple[str, float]] = []

    def add(noun: str, weight: float) -> None:
        many = plural(noun)
        nouns.append((f"{number} {many}", weight * 3))
        nouns.append((many, weight * (0.8 if count < 3 else 1.6)))
        if count >= 3:
            nouns.append((f"a group of {many}", weight * 2))
        if count >= 4:
            nouns.append((f"several {many}", weight))

    if role:
        add(role, 1.4)
    if young:
        if "baby" not in kinds:
            nouns.append((f"{number} young children", 0.6))
        add("child", 1.2)
        add("kid", 0.7)
        if kinds <= {"boy"}:
            add("boy", 1.8)
            nouns.append((f"{number} young boys", 1.5))
        elif kinds <= {"girl"}:
            add("girl", 1.8)
            nouns.append((f"{number} little girls", 1.5))
        return tuple(nouns)
    add("person", 1.2)
    if mixed:
        if count > 2:
            nouns += [("a family", 3.5), ("a happy family", 0.6)]
        return tuple(nouns)
    if kinds <= {"man", "old man"}:
        add("man", 2.2)
        add("guy", 0.5)
    elif kinds <= {"woman", "old woman"}:
        add("woman", 2.2)
        add("lady", 0.5)
    elif count == 2 and len({k.startswith("old") for k in kinds}) == 1:
        old = all(k.startswith("old") for k in kinds)
        nouns += [("a couple", 5), ("an elderly couple" if old else "a young couple", 1.5)]
    if count > 2:
        nouns += [("a group of friends", 1.2), ("friends", 0.5)]
    return tuple(nouns)


def group_of_things(noun: str, things: Sequence[Entity], *, bunch: str = "") -> Weighted:
    """Return the phrases for a set of similar objects."""
    many = plural(noun)
    count = len(things)
    colours = {t.colour for t in things}
    nouns = [(many, 2.0)]
    # Clothes are not counted: "two girls in hats".
    if counted := things[0].category != CLOTHING:
        nouns.append((f"{NUMBERS[count]} {many}", 2.5 if count < 7 else 0.4))
    if count >= 4 and counted:
        nouns.append((f"several {many}", 1.0))
    if count >= 6 and counted:
        nouns.append((f"many {many}", 0.8))
    if len(colours) == 1 and (colour := colours.pop()) and " " not in colour:
        nouns.append((f"{colour} {many}", 2.0))
        if counted:
            nouns.append((f"{NUMBERS[count]} {colour} {many}", 1.5))
    elif len(colours) > 2 and things[0].category != ANIMALS:
        nouns.append((f"colorful {many}", 2.0))
    if bunch:
        nouns.append((f"{bunch} {many}", 2.0))
    return tuple(nouns)


def may_coincide(first: Referent, second: Referent) -> bool:
    """Whether the boxes of the two may be nearly identical: people with their clothes or parts."""
    return (first.category == PEOPLE) != (second.category == PEOPLE) and {
        first.category,
        second.category,
    } <= {
        PEOPLE,
        CLOTHING,
        BODYPARTS,
    }
