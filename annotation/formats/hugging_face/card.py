"""The front matter of README.md for the hub and `datasets`."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from annotation.formats.hugging_face.features import features_in_yaml

#: Licences with an identifier on the hub, by the letters and digits of their usual names. Any other is
#: `other`, with its name beside it.
_KNOWN = (
    *("apache-2.0", "mit", "odbl", "odc-by", "pddl", "cc0-1.0"),
    *(f"cc-{terms}-{version}" for terms in ("by", "by-sa", "by-nc") for version in ("2.0", "3.0", "4.0")),
    *(f"cc-{terms}-{version}" for terms in ("by-nc-sa", "by-nc-nd", "by-nd") for version in ("3.0", "4.0")),
)
_IDENTIFIERS = {re.sub(r"[^a-z0-9]", "", name): name for name in _KNOWN}
_SIZES = (
    *((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")),
    (10_000_000, "1M<n<10M"),
)


class SplitSize(NamedTuple):
    """The number of images of a split, and the size of its rows in bytes before compression."""

    images: int
    size: int


def card_front(name: str, licence: str, *, splits: Mapping[str, SplitSize], boxes: bool) -> str:
    """Return the front matter. `splits` are by their names in `datasets`; `boxes`: whether any image has
    one."""
    return "\n".join(["---", *_front(name, licence, splits, boxes), "---", "", ""])


def _front(name: str, licence: str, splits: Mapping[str, SplitSize], boxes: bool) -> Iterator[str]:
    yield f"pretty_name: {_quoted(name)}"
    yield from _licence(licence)
    yield "task_categories:"
    yield "- image-to-text"
    if boxes:
        yield "- object-detection"
        yield "- zero-shot-object-detection"
    images = sum(split.images for split in splits.values())
    yield "size_categories:"
    yield f"- {next((name for most, name in _SIZES if images < most), 'n>10M')}"
    yield "configs:"
    yield "- config_name: default"
    yield "  data_files:"
    for split in splits:
        yield f"  - split: {split}"
        yield f"    path: data/{split}-*"
    yield "dataset_info:"
    yield "  features:"
    for line in features_in_yaml():
        yield f"  {line}"
    yield "  splits:"
    for split, size in splits.items():
        yield f"  - name: {split}"
        yield f"    num_bytes: {size.size}"
        yield f"    num_examples: {size.images}"


def _licence(licence: str) -> Iterator[str]:
    identifier = _IDENTIFIERS.get(re.sub(r"[^a-z0-9]", "", licence.lower()))
    if identifier is not None:
        yield f"license: {identifier}"
    elif licence:
        yield "license: other"
        yield f"license_name: {_quoted(licence)}"
    else:
        yield "license: unknown"


def _quoted(text: str) -> str:
    """Return a quoted text; JSON's quoting is valid YAML, too."""
    return json.dumps(text, ensure_ascii=False)
