"""Captions: sentences about a picture, with the positions of all mentions.

A caption takes a clause of the story (who does what) and optionally adds what a person wears, where it
happens or what is nearby, and what somebody else does meanwhile. Every noun phrase is a mention, except
pronouns and the phrases that Plummer et al. (2015, section 2.1) exclude as not visual ("in the background",
"in the air").
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from scenes import phrases
from scenes.board import Clause, SceneBoard
from scenes.phrases import gerund, third_person
from scenes.referents import COLLECTIVE, Entity, Group, Referent, ScenePerson

_SHORTEST, _LONGEST = 4, 20
_STOPS = frozenset((".", ","))


@dataclass(frozen=True, slots=True)
class Sentence:
    """A caption: its words, its mentions as (referent key, start, end), and the positions of its verbs and of
    the words with which a new part begins."""

    words: tuple[str, ...]
    mentions: tuple[tuple[int, int, int], ...]
    verbs: frozenset[int]
    parts: frozenset[int]


class Unfit(Exception):
    """This wording mentions something that cannot be mentioned; another one has to be tried."""


@dataclass
class _Draft:
    """A caption being composed. Raises Unfit rather than mention an object twice or an invisible one."""

    rng: Random
    usable: dict[int, Referent]
    words: list[str] = field(default_factory=list)
    mentions: list[tuple[int, int, int]] = field(default_factory=list)
    heads: set[str] = field(default_factory=set)
    depicted: set[int] = field(default_factory=set)
    verbs: set[int] = field(default_factory=set)
    parts: set[int] = field(default_factory=set)
    possessive: str = "their"

    def say(self, text: str) -> None:
        self.words += text.split()

    def mention(self, key: int, style: str = "", tokens: tuple[str, ...] | None = None) -> Referent:
        """Word one mention of the referent `key`, or use `tokens` for it."""
        referent = self.usable.get(key)
        if referent is None:
            raise Unfit
        stands_for = {e.key for e in referent.entities} or {key}
        if stands_for & self.depicted or key in self.depicted:
            raise Unfit
        if tokens is None:
            tokens = phrases.wording(
                referent,
                self.rng,
                style=style,
                possessive=self.possessive,
                first=not self.words,
                again=frozenset(self.heads),
            )
        self.depicted |= stands_for | {key}
        self.heads.add(phrases.noun_of(tokens))
        self.mentions.append((key, len(self.words), len(self.words) + len(tokens)))
        self.words += tokens
        return referent

    def wear(self, person: ScenePerson, *, limit: int) -> None:
        """Add what a person wears or looks like, in up to `limit` mentions."""
        worn = [g for g in person.worn if g.key in self.usable and g.key not in self.depicted]
        looks = [f for f in person.features if f.key in self.usable and f.key not in self.depicted]
        main = [
            g
            for g in worn
            if g.nouns[0][0] not in ("glasses", "sunglasses", "backpack", "shoes", "boots", "scarf")
        ]
        small = [g for g in worn if g.nouns[0][0] in ("glasses", "sunglasses", "backpack", "scarf")]
        form = self.rng.random()
        if limit <= 0 or not (main or small or looks):
            return
        if form < 0.09 and main and (tone := phrases.colour_alone(main[0])):
            self.say("in")
            self.mention(main[0].key, tokens=tone)
        elif form < 0.36 and (small or looks):
            self.say("with")
            self._list(self.rng.sample(looks if looks and self.rng.random() < 0.6 else small + looks, 1))
        elif form < 0.66 and main:
            self.say("in")
            self._list(self._some(main, min(limit, 2 if self.rng.random() < 0.45 else 1)))
        elif main or small:
            self.say("wearing")
            self._list(self._some(main + small, min(limit, 2 if self.rng.random() < 0.5 else 1)))
        else:
            self.say("with")
            self._list(self.rng.sample(looks, 1))

    def wear_alike(self, people: Group) -> None:
        """Add what all members of a group wear, if they wear the same."""
        members = {p.key for p in people.entities}
        alike = [
            worn
            for worn in people.worn
            if worn.key in self.usable
            and {g.owner.key for g in self.usable[worn.key].entities if g.owner} == members
        ]
        if alike:
            self.say(self.rng.choice(("in", "wearing")))
            self.mention(self.rng.choice(alike).key)

    def _some(self, things: Sequence[Entity], count: int) -> list[Entity]:
        """Return `count` of `things`, the first ones (outermost, largest) with higher probability."""
        left = list(things)
        entities: list[Entity] = []
        while left and len(entities) < count:
            weights = [1.0 / (k + 1) for k in range(len(left))]
            entities.append(self.rng.choices(left, weights)[0])
            left.remove(entities[-1])
        return entities

    def _list(self, things: Sequence[Entity]) -> None:
        for k, thing in enumerate(things):
            if k:
                self.say("and")
            self.mention(thing.key)

    def template(self, text: str, form: str, several: bool) -> None:
        """Add a verb phrase in one of the forms "finite", "progressive", "gerund"."""
        parts = text.split()
        if "(" in parts:
            start, stop = parts.index("("), parts.index(")")
            inner = parts[start + 1 : stop] if self.rng.random() < 0.5 else []
            parts = parts[:start] + inner + parts[stop + 1 :]
        verbs = 0
        for part in parts:
            if part.startswith("*"):
                verb = part[1:]
                if form == "progressive" and not verbs:
                    self.words.append("are" if several else "is")
                self.verbs.add(len(self.words))
                if form == "finite":
                    self.words.append(verb if several else third_person(verb))
                else:
                    self.words.append(gerund(verb))
                verbs += 1
            elif part.startswith("@"):
                key, _, style = part[1:].partition("/")
                self.mention(int(key), style)
            else:
                self.words.append(part)


def _agreement(draft: _Draft, referents: Sequence[Referent]) -> bool:
    """Whether the verb is plural, from the wording just used."""
    if len(referents) > 1:
        return True
    referent = referents[0]
    if isinstance(referent, Group):
        _, _, end = draft.mentions[-1]
        return draft.words[end - 1] not in COLLECTIVE
    return referent.several


def _subject(draft: _Draft, clause: Clause, *, dressed: int) -> bool:
    """Word the subject; return whether its verb is plural."""
    subjects: list[Referent] = []
    for k, subject in enumerate(clause.subjects):
        if k:
            draft.parts.add(len(draft.words))
            draft.say("and")
        draft.possessive = clause.subjects[0].possessive if k else "their"
        style = "own" if k and subject.category == "animals" and draft.rng.random() < 0.5 else ""
        subjects.append(draft.mention(subject.key, style))
        if draft.words[draft.mentions[-1][1]] == "another":
            raise Unfit  # "a dancer and another dancer": better mentioned as a group
        if len(clause.subjects) == 1:
            several = _agreement(draft, subjects)
        if (
            dressed
            and isinstance(subject, ScenePerson)
            and (len(clause.subjects) == 1 or draft.rng.random() < 0.4)
        ):
            draft.wear(subject, limit=dressed)
        elif dressed and isinstance(subjects[-1], Group) and draft.rng.random() < 0.5:
            draft.wear_alike(subjects[-1])
    draft.possessive = subjects[0].possessive if len(subjects) == 1 else "their"
    return several if len(subjects) == 1 else True


def _background(draft: _Draft, board: SceneBoard, count: int) -> None:
    """Add up to `count` phrases of place and surroundings; unsuitable ones are skipped."""
    for index in range(count):
        chance = draft.rng.random()
        if not index and chance < 0.68 and board.places:
            text = draft.rng.choices([p for p, _ in board.places], [w for _, w in board.places])[0]
        elif chance < 0.86 and board.around:
            text = draft.rng.choice(board.around)
        elif board.backdrops:
            text = draft.rng.choice(board.backdrops)
        else:
            continue
        if text.split()[0] == draft.words[-1]:
            continue
        before = (len(draft.words), len(draft.mentions), set(draft.heads), set(draft.depicted))
        try:
            draft.parts.add(len(draft.words))
            draft.template(text, "finite", False)
        except Unfit:
            draft.words, draft.mentions = draft.words[: before[0]], draft.mentions[: before[1]]
            draft.heads, draft.depicted = before[2], before[3]


def _compose(draft: _Draft, board: SceneBoard, main: Sequence[Clause], side: Sequence[Clause]) -> None:
    rng = draft.rng
    clause = rng.choices(main, [c.weight for c in main])[0]
    length = rng.choices((2, 3, 4, 5), (16, 34, 32, 18))[0]
    form = rng.choices(("finite", "progressive", "gerund"), (52, 28, 20))[0]
    shape = rng.random()
    text = rng.choice(clause.texts)
    holds = text.count("@") + len(clause.subjects)
    dressed = max(0, length - holds) if rng.random() < 0.7 else 0
    fronted = shape < 0.06 and clause.here and board.places
    if fronted:
        opening = rng.choices([p for p, _ in board.places], [w for _, w in board.places])[0]
        if opening.startswith("@"):
            raise Unfit
        draft.template(opening, "finite", False)
        draft.say(",")
        form = "finite"
    elif shape > 0.965:
        draft.say("there is")
        form = "gerund"
    several = _subject(draft, clause, dressed=dressed)
    if draft.words[0] == "there":
        if draft.words[2] == "the":
            raise Unfit
        if several and draft.words[2] not in ("a", "an"):
            draft.words[1] = "are"
    draft.template(text, form, several)
    left = length - len(draft.mentions)
    others = [c for c in side if c is not clause]
    if left >= 1 and others and rng.random() < 0.36:
        addition = rng.choices(others, [c.weight for c in others])[0]
        draft.say(rng.choice(("while", "while", "as")))
        many = _subject(draft, addition, dressed=1 if left > 2 and rng.random() < 0.5 else 0)
        draft.template(rng.choice(addition.texts), rng.choice(("finite", "progressive")), many)
    elif clause.here and not fronted and left > 0:
        _background(draft, board, min(left, 2) if rng.random() < 0.5 else 1)


def _finish(draft: _Draft) -> Sentence:
    words = draft.words
    words[0] = words[0][:1].upper() + words[0][1:]
    if draft.rng.random() < 0.96:
        words.append(".")
    return Sentence(tuple(words), tuple(draft.mentions), frozenset(draft.verbs), frozenset(draft.parts))


def write(
    board: SceneBoard, usable: dict[int, Referent], rng: Random, *, count: int = 5
) -> list[Sentence] | None:
    """Return `count` different captions of 4 to 20 words about visible objects; None if too few are
    visible."""
    main = [c for c in board.clauses if c.main and all(s.key in usable for s in c.subjects)]
    side = [c for c in board.clauses if all(s.key in usable for s in c.subjects)]
    if not main:
        return None
    sentences: list[Sentence] = []
    seen: set[tuple[str, ...]] = set()
    for _ in range(60 * count):
        draft = _Draft(rng, usable)
        try:
            _compose(draft, board, main, side)
        except Unfit:
            continue
        sentence = _finish(draft)
        word_count = sum(word not in _STOPS for word in sentence.words)
        if not _SHORTEST <= word_count <= _LONGEST or sentence.words in seen:
            continue
        seen.add(sentence.words)
        sentences.append(sentence)
        if len(sentences) == count:
            return sentences
    return None
