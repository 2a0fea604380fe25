"""The little English that captions need: verb forms and articles."""

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
