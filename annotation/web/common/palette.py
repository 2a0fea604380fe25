"""How chains and their boxes are named and coloured on a page: 3, or 3a and 3b; colour 3 of eight."""

#: Colours that static/annotation/tokens.css names; after these they come round again.
HUES = 8


def hue(number: int) -> int:
    """The colour of the chain with `number` (from 1)."""
    return (number - 1) % HUES + 1


def letters(index: int) -> str:
    """a, b, ... z, aa, ab, ...: what tells the boxes of one chain apart; `index` is from 0."""
    name = ""
    index += 1
    while index:
        index, letter = divmod(index - 1, 26)
        name = chr(ord("a") + letter) + name
    return name
