"""Flickr30k Entities: a folder of sentences with mentions, and of annotation files with boxes.

    Sentences/ID.txt     one caption per line, with mentions in brackets
    Annotations/ID.xml   size and objects; written for every image, since readers expect one for each
    images/ID.jpg        read if present, never written
    train.txt val.txt test.txt (restval.txt)    ids, one per line
    UNRELATED_CAPTIONS   image and caption number, from 1
    NOT_COVERED          ids, one per line: images whose mentions nobody has marked

NOT_COVERED is our extension. Without it, an image without mentions is covered and has none.

Import then export is the identity on canonical files: single spaces, LF, a line end after the last line,
annotation files in the layout of `entities_xml`, list entries in the same order. Source: Plummer et al. 2015,
the published annotation.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from annotation.formats.base import ALL_CONTENTS, FORMATS, LEFT_OUT_ORDER, Format, Written, report_problem
from annotation.formats.checks import LocatedRecord, checked_records, writable
from annotation.formats.entities_notation import (
    NOTATION,
    BadNotation,
    Bracketed,
    chains_of,
    parse_sentence,
    print_sentence,
)
from annotation.formats.entities_xml import Annotation, print_annotation, read_annotation
from annotation.formats.names import Pictures
from annotation.protocol.terms import MOST_PER_IMAGE, CaptionRecord, Chain, ImageRecord, LayerRecord, Mention
from phrasebox.balance import NAMES, UNKNOWN, current_tally
from phrasebox.names import KEY, PICTURE_EXTENSIONS, AmbiguousName, ImageNames, ImageNaming, image_id
from phrasebox.text_files import FormatError, lines, open_new, short_repr

#: The splits that have a list, in reading order; `restval` is Karpathy's.
SPLITS = ("train", "restval", "val", "test")
_SENTENCES, _ANNOTATIONS, _PICTURES = "Sentences", "Annotations", "images"
UNRELATED, NOT_COVERED = "UNRELATED_CAPTIONS", "NOT_COVERED"
_HEADER = "# format: <imageID> <sentence number>"
_SHAPE = "a folder with Sentences/ID.txt"


class Entities(Format):
    """Captions with mentions, chains, boxes, sizes, splits, unrelated captions and images not covered."""

    key = "entities"
    title = "Flickr30k Entities (Sentences, Annotations, split lists)"
    reads = True
    writes = True
    loading = (
        "from pathlib import Path\n"
        'captions = {file.stem: file.read_text().splitlines() for file in Path("Sentences").glob("*.txt")}'
    )
    reads_layers = True
    needs_captions = True
    splits = SPLITS
    says = ALL_CONTENTS - {"external_ids", "caption_ids", "labels", "model_boxes"}

    def read(self, path: Path, *, images: Path | None = None) -> Iterator[ImageRecord]:
        """Yield the images of a folder: first those of the lists in their order, then the others by id."""
        return checked_records(self._located(path, images), source=path, expected=_SHAPE)

    def _located(self, path: Path, images: Path | None) -> Iterator[LocatedRecord]:
        root = _root(path)
        pictures = Pictures(images or (root / _PICTURES if (root / _PICTURES).is_dir() else None))
        present = set(_ids(root / _SENTENCES, ".txt"))
        for orphan in _ids(root / _ANNOTATIONS, ".xml"):
            if orphan not in present:
                report_problem(
                    FormatError(
                        "has no sentences beside it",
                        file=root / _ANNOTATIONS / f"{orphan}.xml",
                        expected=f"{_SENTENCES}/{orphan}.txt",
                    )
                )
        splits = _splits(root, present)
        unrelated = _unrelated(root / UNRELATED)
        uncovered = _not_covered(root / NOT_COVERED)
        for id in (*splits, *sorted(present - splits.keys())):
            try:
                record = _record(root, id, splits.get(id, ""), unrelated.get(id, {}), pictures)
                if id in uncovered:
                    record = _uncovered(record, root / NOT_COVERED, uncovered[id])
            except FormatError as error:
                report_problem(error)
                continue
            yield record

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        """Write sentences, annotation files, lists. No pictures: they belong to their owners.

        Raises FormatError for what the notation cannot express: overlapping mentions, chain ids that are no
        numbers, chains without mention and object, words with brackets at their edge, images without
        captions, other splits.
        """
        (out / _SENTENCES).mkdir()
        written = Written(files=[out / _SENTENCES])
        last = (0, "")
        lists: dict[str, TextIO] = {}
        with ExitStack() as stack:

            def listed(name: str) -> TextIO:
                if name not in lists:
                    lists[name] = stack.enter_context(open_new(out / name))
                    written.files.append(out / name)
                    if name == UNRELATED:
                        lists[name].write(f"{_HEADER}\n")
                return lists[name]

            for record in writable(records, out, format=self, written=written):
                with open_new(out / _SENTENCES / f"{record.id}.txt") as file:
                    file.writelines(f"{line}\n" for line in _sentences(record, out))
                _write_annotation(record, out, written)
                if record.layer is None:
                    listed(NOT_COVERED).write(f"{record.id}\n")
                last = max(last, position := _position_of(record))
                written.leave_out(LEFT_OUT_ORDER, position < last)
                _leave_out(record, written)
                if record.split:
                    listed(f"{record.split}.txt").write(f"{record.id}\n")
                for number, caption in enumerate(record.captions, 1):
                    if caption.unrelated:
                        listed(UNRELATED).write(f"{record.id} {number}\n")
                written.add("images")
                written.add("captions", len(record.captions))
                written.add("mentions", len(record.layer.mentions) if record.layer else 0)
                objects = record.layer.objects if record.layer else ()
                written.add("boxes", sum(obj.box is not None for obj in objects))
        return written


def _root(path: Path) -> Path:
    """Return `path`, or its only subfolder with sentences (archives often contain everything in a folder)."""
    if (path / _SENTENCES).is_dir():
        return path
    inside = [p.parent for p in path.glob(f"*/{_SENTENCES}") if p.is_dir()] if path.is_dir() else []
    if len(inside) != 1:
        raise FormatError(f"holds no folder {_SENTENCES}", file=path, expected=_SHAPE)
    return inside[0]


def _ids(folder: Path, suffix: str) -> Iterator[str]:
    """Yield the ids of the files in `folder`, except hidden files (macOS leaves some)."""
    if folder.is_dir():
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(suffix) and not entry.name.startswith("."):
                    yield entry.name.removesuffix(suffix)


def _splits(root: Path, present: set[str]) -> dict[str, str]:
    """Return the split of each id in `present`, in the order of the lists, which may list more: subsets
    exist."""
    splits: dict[str, str] = {}
    tally, keys = current_tally(), sorted(present)
    names = ImageNames(ImageNaming(number, key) for number, key in enumerate(keys))
    for split in SPLITS:
        file = root / f"{split}.txt"
        if not file.is_file():
            continue
        for number, line in lines(file):
            if not (name := line.strip()):
                continue
            try:
                matches = (names.find(spelled, (KEY,)) for spelled in (name, image_id(name)))
                image = next((item for item in matches if item is not None), None)
            except AmbiguousName as error:
                raise FormatError(str(error), file=file, line=number, expected="ids of images") from error
            tally.count(NAMES)
            if image is None:
                tally.leave(NAMES, UNKNOWN, 1, name)
                continue
            tally.take(NAMES)
            id = keys[image]
            if id in splits:
                raise FormatError(
                    f"{short_repr(id)} is listed a second time (first in {splits[id]}.txt)",
                    file=file,
                    line=number,
                    expected="each image once",
                )
            splits[id] = split
    return splits


def _unrelated(file: Path) -> dict[str, dict[int, int]]:
    """Return, for each id, its caption numbers (from 1) with their lines in the file."""
    unrelated: dict[str, dict[int, int]] = {}
    if file.is_file():
        for at, line in lines(file):
            if not line.strip():
                continue
            id, _, number = line.strip().rpartition(" ")
            if not id or not (number.isascii() and number.isdigit() and len(number) < 6):
                # An id may begin with the comment sign; only lines that are no row are comments.
                if line.startswith("#"):
                    continue
                raise FormatError(
                    f"{short_repr(line)} is not a row", file=file, line=at, expected="image caption-number"
                )
            unrelated.setdefault(id.strip(), {})[int(number)] = at
    return unrelated


def _not_covered(file: Path) -> dict[str, int]:
    """Return the line of each id of images that the layer does not cover; the list may have more, as subsets
    exist."""
    counts: dict[str, int] = {}
    if file.is_file():
        for at, line in lines(file):
            if (id := line.strip()) and counts.setdefault(id, at) != at:
                raise FormatError(
                    f"{short_repr(id)} is listed a second time (first in line {counts[id]})",
                    file=file,
                    line=at,
                    expected="each image once",
                )
    return counts


def _uncovered(counted: LocatedRecord, file: Path, line: int) -> LocatedRecord:
    """Return the record without its layer; one that has mentions or objects is covered in spite of the
    list."""
    record, where, at = counted
    if record.layer != LayerRecord():
        raise FormatError(
            f"{short_repr(record.id)} has mentions or objects, and so is covered",
            file=file,
            line=line,
            expected="images without either",
        )
    return replace(record, layer=None), where, at


def _position_of(record: ImageRecord) -> tuple[int, str]:
    """Return the sort key of images when they are read: list after list, then those in none by id."""
    return (SPLITS.index(record.split), "") if record.split else (len(SPLITS), record.id)


def _leave_out(record: ImageRecord, written: Written) -> None:
    """Count file names that differ from the id, and captions that are more than their words."""
    written.leave_out("filenames", image_id(record.filename) != record.id)
    written.leave_out("texts", sum(c.text != " ".join(c.words) for c in record.captions))


def _record(root: Path, id: str, split: str, unrelated: dict[int, int], pictures: Pictures) -> LocatedRecord:
    file = root / _SENTENCES / f"{id}.txt"
    sentences: list[tuple[tuple[str, ...], tuple[Bracketed, ...]]] = []
    blank: int | None = None
    for number, line in lines(file):
        if not line.strip():
            blank = blank or number
            continue
        if blank:
            raise FormatError("the caption is empty", file=file, line=blank, expected="a sentence")
        if len(sentences) == MOST_PER_IMAGE:
            raise FormatError(
                f"has more than {MOST_PER_IMAGE} captions",
                file=file,
                line=number,
                expected="the captions of an image",
            )
        try:
            sentences.append(parse_sentence(line))
        except BadNotation as error:
            raise FormatError(str(error), file=file, line=number, expected=NOTATION) from error
    if not sentences:
        raise FormatError("holds no caption", file=file, expected="one caption per line")
    for number, at in unrelated.items():
        if not 1 <= number <= len(sentences):
            raise FormatError(
                f"image {id} has no caption {number}",
                file=root / UNRELATED,
                line=at,
                expected=f"1 to {len(sentences)}",
            )
    drawn = root / _ANNOTATIONS / f"{id}.xml"
    annotation = read_annotation(drawn) if drawn.is_file() else Annotation()
    if annotation.filename and image_id(annotation.filename) != id:
        raise FormatError(
            f"<filename> is {short_repr(annotation.filename)}", file=drawn, expected=f"{id}.jpg"
        )
    picture = pictures.find(
        *([annotation.filename] if annotation.filename else []),
        *(id + e for e in PICTURE_EXTENSIONS),
    )
    chains = chains_of(sentences)
    known = {chain.id for chain in chains}
    only_drawn = dict.fromkeys(c for obj in annotation.objects for c in obj.chains if c not in known)
    record = ImageRecord(
        id=id,
        filename=annotation.filename or (picture.name if picture else f"{id}.jpg"),
        captions=tuple(
            CaptionRecord(" ".join(words), unrelated=number in unrelated)
            for number, (words, _) in enumerate(sentences, 1)
        ),
        split=split,
        width=annotation.width,
        height=annotation.height,
        picture=picture,
        layer=LayerRecord((*chains, *(Chain(c, ()) for c in only_drawn)), tuple(annotation.objects)),
    )
    return record, file, None


def _sentences(record: ImageRecord, out: Path) -> Iterator[str]:
    """Yield the lines of a record's sentence file."""
    file = out / _SENTENCES / f"{record.id}.txt"
    if not record.captions:
        raise FormatError("the image has no caption", file=file, expected="a caption, or the format jsonl")
    if record.split not in ("", *SPLITS):
        raise FormatError(
            f"the split {short_repr(record.split)} has no list",
            file=file,
            expected=f"{' or '.join(SPLITS)}, or the format jsonl",
        )
    placed: dict[int, list[tuple[str, Mention]]] = {}
    drawn = {chain for obj in record.layer.objects for chain in obj.chains} if record.layer else set()
    for chain in record.layer.chains if record.layer else ():
        if not chain.mentions and chain.id not in drawn:
            raise FormatError(
                f"chain {chain.id} of {short_repr(record.id)} has no mention and no object",
                file=file,
                expected="one of them, or the format jsonl",
            )
        for mention in chain.mentions:
            placed.setdefault(mention.caption, []).append((chain.id, mention))
    for number, caption in enumerate(record.captions):
        try:
            line = print_sentence(caption.words, placed.get(number, ()))
            if number == 0 and line.startswith("\ufeff"):
                raise BadNotation("the file would begin with U+FEFF, which is no word there")
            yield line
        except BadNotation as error:
            raise FormatError(
                f"{error}, which the notation cannot represent",
                file=file,
                line=number + 1,
                expected="another format, such as jsonl",
            ) from error


def _write_annotation(record: ImageRecord, out: Path, written: Written) -> None:
    folder = out / _ANNOTATIONS
    if folder not in written.files:
        folder.mkdir()
        written.files.append(folder)
    file = folder / f"{record.id}.xml"
    for chain in (chain for obj in record.layer.objects for chain in obj.chains) if record.layer else ():
        if not chain.isascii() or not chain.isdigit():
            raise FormatError(
                f"the chain id {short_repr(chain)} is not a number",
                file=file,
                expected="a number, or the format jsonl",
            )
    filename = record.filename if image_id(record.filename) == record.id else f"{record.id}.jpg"
    with open_new(file) as stream:
        stream.write(
            print_annotation(
                filename, record.width, record.height, record.layer.objects if record.layer else ()
            )
        )


FORMATS.register(Entities.key, Entities())
