"""What other tools hold that a layer cannot, and texts as a layer holds them."""

from typing import Final

from phrasebox.balance import NOT_KEPT, current_tally


class NotHeld:
    """Kinds of things that a layer cannot hold, as a balance sheet names them."""

    #: Other shapes than an upright box.
    OUTLINES: Final = "outlines"
    MASKS: Final = "masks"
    LINES: Final = "lines"
    POINTS: Final = "points"
    ELLIPSES: Final = "ellipses"
    CUBOIDS: Final = "cuboids"
    SKELETONS: Final = "skeletons"
    TRACKS: Final = "tracks"
    CROWDS: Final = "crowds"
    #: What is said of a box beside its label and its phrases.
    ROTATIONS: Final = "rotations"
    ATTRIBUTES: Final = "attributes"
    GROUPS: Final = "groups"
    RELATIONS: Final = "relations"
    #: What is said of an image as a whole, and the split of a reference.
    IMAGE_LABELS: Final = "image_labels"
    SPLITS: Final = "splits"
    #: Other answers about the same image: by further people, or by models.
    FURTHER: Final = "further_annotations"
    PREDICTIONS: Final = "predictions"


def pass_over(kind: str, number: int = 1) -> None:
    """Count things of one of NotHeld that are passed over."""
    current_tally().pass_over(kind, NOT_KEPT, number)


#: How exports name a phrase of a box, its chain, and the box itself where it shows several things.
BOX_PHRASE, BOX_CHAIN, BOX_REGION = "phrase", "chain", "region"


def plain(text: str) -> str:
    """A text with one space between its words."""
    return " ".join(text.split())
