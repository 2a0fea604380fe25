"""What other tools hold that a layer cannot, and texts as a layer holds them."""

from typing import Final

#: What of a picture has another shape than an upright box: it is left out.
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
#: What is said of an image.
IMAGE_LABELS: Final = "image_labels"
SPLITS: Final = "splits"
#: Other answers about the same image: by further people, or by models.
FURTHER: Final = "further_annotations"
PREDICTIONS: Final = "predictions"
#: Boxes that are none.
EMPTY: Final = "empty"
OUTSIDE: Final = "outside"
#: Phrases whose box is not in the files.
NO_BOX: Final = "no_box"
#: Images that a corpus does not have, or has in another size.
NO_IMAGE: Final = "images"
OTHER_SIZE: Final = "other_size"

#: Every word of `SourceImage.excluded`, and of what conversion leaves out.
EXCLUDED: Final = (
    *(NO_IMAGE, OTHER_SIZE, OUTSIDE, EMPTY, NO_BOX),
    *(OUTLINES, MASKS, LINES, POINTS, ELLIPSES, CUBOIDS, SKELETONS, TRACKS, CROWDS),
    *(ROTATIONS, ATTRIBUTES, GROUPS, RELATIONS, IMAGE_LABELS, SPLITS, FURTHER, PREDICTIONS),
)

#: How exports name a phrase of a box, its chain, and the box itself where it shows several things.
PHRASE: Final = "phrase"
CHAIN: Final = "chain"
REGION: Final = "region"


def plain(text: str) -> str:
    """A text with one space between its words."""
    return " ".join(text.split())
