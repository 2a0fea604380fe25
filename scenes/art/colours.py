"""Colours: their names in captions, their values, and which go together."""

from random import Random

Colour = tuple[int, int, int]

WHITE: Colour = (250, 247, 240)
INK: Colour = (44, 46, 58)

#: The colours that a caption may name, for clothes, balls, cars and the like.
NAMED_COLOURS: dict[str, Colour] = {
    "red": (214, 72, 66),
    "orange": (238, 138, 66),
    "yellow": (246, 198, 82),
    "green": (84, 150, 104),
    "turquoise": (72, 176, 176),
    "blue": (66, 118, 188),
    "purple": (136, 102, 176),
    "pink": (240, 148, 168),
    "brown": (142, 98, 70),
    "tan": (214, 184, 146),
    "white": (246, 243, 235),
    "gray": (142, 150, 160),
    "black": (58, 58, 70),
}

#: Sets of clothing colours that go well together; each picture uses one.
HARMONIES: tuple[tuple[str, ...], ...] = (
    ("red", "white", "blue", "tan"),
    ("yellow", "gray", "blue", "white"),
    ("pink", "purple", "white", "blue"),
    ("orange", "turquoise", "white", "brown"),
    ("green", "tan", "white", "red"),
    ("yellow", "purple", "pink", "gray"),
    ("blue", "orange", "white", "gray"),
    ("turquoise", "pink", "yellow", "white"),
    ("red", "black", "white", "yellow"),
    ("green", "yellow", "blue", "orange"),
)


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """Return `first` mixed with `share` (0..1) of `second`."""
    return (
        round(first[0] + (second[0] - first[0]) * share),
        round(first[1] + (second[1] - first[1]) * share),
        round(first[2] + (second[2] - first[2]) * share),
    )


def darker(colour: Colour, share: float = 0.16) -> Colour:
    """Return a shade of `colour`, tending to a cool blue as shadows do."""
    return mix(colour, (42, 36, 74), share)


def lighter(colour: Colour, share: float = 0.2) -> Colour:
    """Return a tint of `colour`, tending to a warm white as light does."""
    return mix(colour, (255, 250, 232), share)


def pick(rng: Random, names: tuple[str, ...], *, unlike: tuple[str, ...] = ()) -> str:
    """Return one of `names` that is none of `unlike`, if there is one."""
    left = [name for name in names if name not in unlike]
    return rng.choice(left or list(names))
