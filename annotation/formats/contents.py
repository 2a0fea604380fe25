"""What a record holds beside its id and its captions, and so what a format may be unable to say.

A format names in `Format.says` what its files can say. `checks.writable` counts the rest as left out.
"""

from collections.abc import Callable

from annotation.formats.names import printed_name
from annotation.protocol.terms import ImageRecord

#: Word -> how much of it a record holds: 0 or 1 of what an image has once, else how many captions, or
#: boxes that a machine drew.
RECORD_CONTENTS: dict[str, Callable[[ImageRecord], int]] = {
    "filenames": lambda record: printed_name(record) != record.filename,
    "splits": lambda record: record.split != "",
    "sizes": lambda record: (record.width, record.height) != (0, 0),
    "external_ids": lambda record: record.external_id != "",
    "texts": lambda record: sum(caption.text != caption.text.strip() for caption in record.captions),
    "words": lambda record: sum(c.words != tuple(c.text.split()) for c in record.captions),
    "caption_ids": lambda record: sum(caption.id != "" for caption in record.captions),
    "unrelated": lambda record: sum(caption.unrelated for caption in record.captions),
    "layers": lambda record: record.layer is not None,
    "machines": lambda record: sum(thing.machine for thing in record.layer.objects) if record.layer else 0,
}
ALL_CONTENTS = frozenset(RECORD_CONTENTS)

#: What formats that say a part of `layers` leave out of it, and the order of images.
LEFT_OUT_MENTIONS, LEFT_OUT_BOXLESS, LEFT_OUT_CATEGORIES, LEFT_OUT_ORDER = (
    "mentions",
    "boxless",
    "categories",
    "order",
)
