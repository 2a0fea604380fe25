"""What other tools hold that a layer cannot, and texts as a layer holds them."""

from typing import Final


class NotHeld:
    """Words that count what a layer does not hold of its source."""

    #: Images that the corpus does not have, or has in another size.
    NO_IMAGE: Final = "images"
    OTHER_SIZE: Final = "other_size"
    #: Boxes outside of their picture, or of no area, and phrases whose box is not in the files.
    OUTSIDE: Final = "outside"
    EMPTY: Final = "empty"
    NO_BOX: Final = "no_box"
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


#: How exports name a phrase of a box, its chain, and the box itself where it shows several things.
BOX_PHRASE, BOX_CHAIN, BOX_REGION = "phrase", "chain", "region"


def plain(text: str) -> str:
    """A text with one space between its words."""
    return " ".join(text.split())
