"""RefCOCO, RefCOCO+ and RefCOCOg: expressions that refer to the boxes of COCO instances.

    instances.json    COCO instances
    refs*.p, or .json [{"ann_id": 7, "image_id": 1, "split": "train", "sentences": [{"sent": ...}, ...]}, ...]

The published `refs(unc).p` is a pickle of plain data. Any other could run code when it is read, and is
rejected. Source: Yu et al. 2016, Modeling Context in Referring Expressions, and its published data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from annotation.formats.base import FORMATS, Format, SourceBox, SourceImage
from annotation.formats.fields import Fields
from annotation.formats.files.json_stream import items
from annotation.formats.files.plain_pickle import read_plain_pickle
from annotation.formats.layers.coco_instances import bbox_edges, category_names, label_in, names_of_file
from annotation.formats.layers.contents import pass_over
from annotation.formats.names import only_file, path_in_source
from phrasebox import balance
from phrasebox.balance import MENTIONS, WITHOUT_BOX, current_tally
from phrasebox.names import SOURCE
from phrasebox.text_files import FormatError

_SHAPE = "a folder or an archive with instances.json and one file of references, refs(unc).p or refs.json"
_PLAIN = "lists, dictionaries, texts and numbers alone, as in the published refs(unc).p, or refs.json instead"


class RefCoco(Format):
    """Boxes with the expressions that refer to them, of the images that have such expressions."""

    key = "refcoco"
    title = "RefCOCO (refs(unc).p or refs.json, with instances.json); a layer of a corpus"
    reads_layers = True

    def read_layer(self, path: Path) -> Iterator[SourceImage]:
        """Yield the boxes that expressions refer to, each with its expressions and its class."""
        if not path.is_dir():
            raise FormatError("is one file", file=path, expected=_SHAPE)
        references = _references(only_file(path, "refs*.json", "refs*.p", expected=_SHAPE))
        instances = only_file(path, "instances*.json", expected=_SHAPE)
        labels, boxes = category_names(instances), dict[str, list[SourceBox]]()
        for number, value in enumerate(items(instances, "annotations.item"), 1):
            entry = Fields(value, what=f"annotation {number}", file=instances)
            if (reference := references.pop(entry.identifier("id"), None)) is None:
                continue
            phrases = tuple(reference)
            box = SourceBox(*bbox_edges(entry), label_in(entry, labels), phrases)
            image = entry.identifier("image_id")
            boxes.setdefault(image, []).append(box)
        for number, value in enumerate(items(instances, "images.item"), 1):
            entry = Fields(value, what=f"image {number}", file=instances)
            if (of := boxes.pop(id := entry.identifier("id"), None)) is None:
                continue
            names = names_of_file(path_in_source(entry.text("file_name")), id)
            names = names if len(names) > 1 else (*names, (SOURCE, id))  # they are COCO's, whatever the name
            size = entry.integer("width", 0), entry.integer("height", 0)
            yield SourceImage(names, *size, tuple(of))
        if boxes:
            raise FormatError(
                f"image {next(iter(boxes))} of an annotation is not among the images",
                file=instances,
                expected='an "id" of "images" in every "image_id"',
            )
        left = sum(map(len, references.values()))
        current_tally().pass_over(MENTIONS, WITHOUT_BOX, left)


def _references(file: Path) -> dict[str, list[str]]:
    """Return the expressions of each annotation."""
    references: dict[str, list[str]] = {}
    for number, value in enumerate(_entries(file), 1):
        entry = Fields(value, what=f"reference {number}", file=file)
        phrases = references.setdefault(entry.identifier("ann_id"), [])
        pass_over(balance.REFERENCE_SPLITS, entry.text("split", "") != "")
        for sentence in entry.list("sentences"):
            text = Fields(sentence, what=entry.what, file=file)
            phrases.append(text.text("raw") if "raw" in text.value else text.text("sent"))
    if not references:
        raise FormatError("holds no references", file=file, expected=_SHAPE)
    return references


def _entries(file: Path) -> Iterable[Any]:
    if file.suffix != ".p":
        return items(file, "item")
    entries = read_plain_pickle(file, expected=_PLAIN)
    return entries if isinstance(entries, list) else []


FORMATS.register(RefCoco.key, RefCoco())
