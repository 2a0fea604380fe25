"""Contents of other tools that a layer cannot store, and normalized texts."""

from phrasebox.balance import NOT_KEPT, current_tally


def pass_over(kind: str, number: int = 1) -> None:
    """Count things of a kind that layers do not support."""
    current_tally().pass_over(kind, NOT_KEPT, number)


#: Names in exports for a phrase of a box, its chain, and the box itself if it shows several things.
BOX_PHRASE, BOX_CHAIN, BOX_REGION = "phrase", "chain", "region"


def plain(text: str) -> str:
    """Return a text with single spaces between its words."""
    return " ".join(text.split())
