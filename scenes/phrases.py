"""Noun phrases: wordings of a mention; verb forms and articles for captions."""

from random import Random

from scenes.art.colours import NAMED_COLOURS
from scenes.referents import NUMBERS, Entity, Group, Notion, Referent, ScenePerson
from scenes.wardrobe import weighted

#: Verbs whose last consonant is doubled before -ing.
_DOUBLING = frozenset(("run", "sit", "jog", "swim", "get", "stop", "hug", "pet", "dig", "hit", "chat", "cut"))

_VOWELS = "aeiou"


def third_person(verb: str) -> str:
    """The form after he, she or it: watch -> watches."""
    if verb in ("have", "be"):
        return {"have": "has", "be": "is"}[verb]
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ies"
    return verb + "s"


def gerund(verb: str) -> str:
    """The -ing form: ride -> riding, run -> running, lie -> lying."""
    if verb == "be":
        return "being"
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb in _DOUBLING:
        return verb + verb[-1] + "ing"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    return verb + "ing"


def article(word: str) -> str:
    """a or an, by the sound that `word` begins with."""
    return (
        "an"
        if word[0].lower() in _VOWELS and not word.lower().startswith(("uni", "one", "use", "eu"))
        else "a"
    )


def wording(
    referent: Referent,
    rng: Random,
    *,
    style: str = "",
    possessive: str = "",
    first: bool = False,
    again: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """Return the tokens of one mention.

    `style` is the template's ("the" or "own"); `possessive` the possessive of the clause's subject; `first`:
    the mention opens the caption; `again` are the nouns that the caption has used, so that a second man
    becomes "another man".
    """
    if isinstance(referent, Notion):
        return tuple(weighted(rng, referent.phrases).split())
    if isinstance(referent, Group):
        return _several(referent, rng, style, possessive)
    if isinstance(referent, ScenePerson):
        return _person(referent, rng, style, possessive, first, again)
    assert isinstance(referent, Entity)
    return _thing(referent, rng, style, possessive, again)


def noun_of(tokens: tuple[str, ...]) -> str:
    """Return the head of a phrase, for `again`."""
    return tokens[-1].lower()


def _several(group: Group, rng: Random, style: str, possessive: str) -> tuple[str, ...]:
    plain_phrases = tuple(p for p in group.phrases if p[0].split()[0] not in NUMBERS)
    phrase = weighted(rng, plain_phrases if style == "own" and plain_phrases else group.phrases)
    head = phrase.split()[0]
    if style == "own" and possessive and head not in ("a", "an", "their", "his", "her", "both"):
        bare = phrase.split()
        return (possessive, *(bare[1:] if bare[0] in ("several", "many") else bare))
    if style == "the" and head not in ("a", "an", "the", "several", "many", "their", "his", "her"):
        return ("the", *phrase.split())
    return tuple(phrase.split())


def _person(
    person: ScenePerson, rng: Random, style: str, possessive: str, first: bool, again: frozenset[str]
) -> tuple[str, ...]:
    noun = weighted(rng, person.nouns)
    if noun.split()[-1] in again:
        noun = weighted(rng, person.nouns)
    words: list[str] = []
    role = noun in {r for r, _ in person.role}
    general = noun in ("person", "child", "kid", "gentleman", "infant", "toddler")
    plainly = person.kind.startswith("old") and not role and noun != "person"
    if plainly and rng.random() < 0.8:
        words.append(rng.choice(("old", "elderly", "older")))
    elif not general and not role and rng.random() < 0.34:
        fit = [a for a in person.adjectives if not (a == "bearded" and person.kind == "woman")]
        words.append(rng.choice(fit))
    elif noun in ("child", "kid") and rng.random() < 0.3:
        words.append(rng.choice(("young", "small")))
    words += noun.split()
    if noun.split()[-1] in again:
        return ("another", *words)
    if style == "the" or (not again and rng.random() < 0.07):
        return ("the", *words)
    if first and rng.random() < 0.07:
        return tuple(words)
    return (article(words[0]), *words)


def colour_words(colour: str) -> tuple[str, ...]:
    """A colour as tokens ("red and white")."""
    return tuple(colour.split())


def _thing(thing: Entity, rng: Random, style: str, possessive: str, again: frozenset[str]) -> tuple[str, ...]:
    noun = weighted(rng, thing.nouns)
    if thing.form == "whole":
        return tuple(noun.split())
    words: list[str] = []
    likely = 0.72 if thing.owner else 0.5
    if thing.adjectives and rng.random() < (
        0.55 if thing.adjectives[0] in ("striped", "polka-dot") else 0.22
    ):
        words.append(rng.choice(thing.adjectives))
    coloured = thing.colour and rng.random() < likely
    if coloured:
        if words and words[0] in ("striped", "polka-dot"):
            words = [*colour_words(thing.colour), *words]
        else:
            words += colour_words(
                thing.colour.split()[0] if thing.owner and " " in thing.colour else thing.colour
            )
    words += noun.split()
    if style == "own" and possessive:
        return (possessive, *words)
    if thing.form in ("pair", "plenty"):
        if (
            thing.form == "pair"
            and noun in ("glasses", "sunglasses", "skis", "shorts")
            and not coloured
            and rng.random() < 0.12
        ):
            return ("a", "pair", "of", *words)
        return ("the", *words) if style == "the" and rng.random() < 0.7 else tuple(words)
    if thing.form == "mass":
        return tuple(words) if words[:-1] and rng.random() < 0.5 else ("the", *words)
    if style == "the" and rng.random() < 0.75:
        return ("the", *words)
    if noun.split()[-1] in again and not thing.owner:
        return ("another", *words)
    return (article(words[0]), *words)


def colour_alone(thing: Entity) -> tuple[str, ...] | None:
    """Return the garment's colour as a separate mention ("a man in [blue]"), if it has one."""
    return (thing.colour,) if thing.colour in NAMED_COLOURS and thing.form == "one" else None
