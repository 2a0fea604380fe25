"""What other tools hold that a layer cannot, and texts as a layer holds them."""

from phrasebox.balance import NOT_KEPT, current_tally


def pass_over(kind: str, number: int = 1) -> None:
    """Count things of a kind not supported by layers."""
    current_tally().pass_over(kind, NOT_KEPT, number)


#: How exports name a phrase of a box, its chain, and the box itself where it shows several things.
BOX_PHRASE, BOX_CHAIN, BOX_REGION = "phrase", "chain", "region"


def plain(text: str) -> str:
    """A text with one space between its words."""
    return " ".join(text.split())
