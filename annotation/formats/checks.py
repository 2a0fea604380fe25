"""Rules for every record in any format, which the rows of the database require, too.

Readers pass their records through `checked_records`, writers through `writable`, so that a file that one of
our formats wrote can be read again.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from annotation.formats.base import RECORD_CONTENTS, Format, Written, report_problem
from annotation.formats.names import SAFE_NAME, SAFE_PATH, ImageIds, is_safe_name, is_safe_path
from annotation.protocol.terms import (
    MOST_PER_IMAGE,
    NOT_VISUAL,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerRecord,
)
from phrasebox.names import image_id
from phrasebox.text_files import FormatError, short_repr

#: A record, its file, and its line if the format has lines.
LocatedRecord = tuple[ImageRecord, Path, int | None]

LONGEST_EXTERNAL_ID = 100
LONGEST_CATEGORIES = 120
LONGEST_LABEL, LONGEST_PHRASE = 200, 2000
LARGEST_SIDE = 2**31 - 1

_SPLIT = re.compile(r"[A-Za-z0-9_-]{0,40}")
_CHAIN = re.compile(r"[A-Za-z0-9_.:-]{1,40}")
_CATEGORY = re.compile(r"[^\s/\[\]\x00\ud800-\udfff]+")
#: Characters that Unicode classifies as letters or symbols, but that are invisible.
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0\u034f\u17b4\u17b5")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def checked_records(
    records: Iterable[LocatedRecord], *, source: Path, expected: str
) -> Iterator[ImageRecord]:
    """Yield valid records: no image or picture occurs twice, and there is at least one.

    A record without an id gets one from its file name. `expected` describes the format, for a source without
    records. Only the names are kept in memory. Invalid records are skipped if there is a listener
    (`base.problems_reported_to`).
    """
    seen: set[str] = set()
    image_of_picture: dict[Path | None, str] = {}
    ids = ImageIds()
    for record, file, line in records:
        try:
            checked = record if record.id else replace(record, id=image_id(record.filename))
            check_record(checked, file=file, line=line)
            if not record.id:
                try:
                    id = ids.id_of(record.filename, record.picture)
                    checked = checked if checked.id == id else replace(record, id=id)
                except ValueError as error:
                    raise FormatError(str(error), file=file, line=line, expected="each image once") from error
            elif record.id in seen:
                raise FormatError(
                    f"image {short_repr(record.id)} appears a second time",
                    file=file,
                    line=line,
                    expected="each image once",
                )
            elif other := image_of_picture.get(record.picture):
                raise FormatError(
                    f"the picture of image {short_repr(other)} appears a second time, as that of image "
                    f"{short_repr(record.id)}, {short_repr(record.filename)}",
                    file=file,
                    line=line,
                    expected="each picture once",
                )
        except FormatError as error:
            error.pictures = () if record.picture is None else (str(record.picture),)
            report_problem(error, captions=len(record.captions))
            continue
        seen.add(checked.id)
        if checked.picture is not None:
            image_of_picture[checked.picture] = checked.id
        yield checked
    if not seen:
        nothing = FormatError("holds no images", file=source, expected=expected)
        nothing.no_valid_image = True
        raise nothing


def writable(
    records: Iterable[ImageRecord], out: Path, *, format: Format, written: Written
) -> Iterator[ImageRecord]:
    """Yield the records, each checked as in reading; count in `written` what `format` cannot express.

    In a format without ids they get the file names under which they are written.
    """
    unsaid = {word: held for word, held in RECORD_CONTENTS.items() if word not in format.says}
    ids = ImageIds() if "filenames" in unsaid else None
    for record in records:
        check_record(record, file=out)
        for word, held in unsaid.items():
            written.leave_out(word, held(record))
        if ids is not None and (name := ids.printed(record)) != record.filename:
            written.leave_out("filenames")
            record = replace(record, filename=name)
        yield record


def check_record(record: ImageRecord, *, file: Path, line: int | None = None) -> None:
    """Raise FormatError if `record` breaks a rule, naming the image and the rule."""

    def refuse(problem: str, expected: str) -> FormatError:
        return FormatError(
            f"image {short_repr(record.id)}: {problem}", file=file, line=line, expected=expected
        )

    if not is_safe_name(record.id):
        raise refuse(f"the id {short_repr(record.id)} is refused", SAFE_NAME)
    if not is_safe_path(record.filename):
        raise refuse(f"the file name {short_repr(record.filename)} is refused", SAFE_PATH)
    if not _SPLIT.fullmatch(record.split):
        raise refuse(
            f"the split {short_repr(record.split)} is refused",
            "at most 40 letters, digits, hyphens or underscores",
        )
    for word, side in (("width", record.width), ("height", record.height)):
        if not 0 <= side <= LARGEST_SIDE:
            raise refuse(f"the {word} {side} is refused", "pixels, 0 where unknown")
    if problem := _bad_text(record.external_id, LONGEST_EXTERNAL_ID):
        raise refuse(f"the external id {short_repr(record.external_id)} {problem}", "a short text")
    if len(record.captions) > MOST_PER_IMAGE:
        raise refuse(f"has {len(record.captions)} captions", f"at most {MOST_PER_IMAGE}")
    for number, caption in enumerate(record.captions):
        if problem := _bad_caption(caption):
            raise refuse(f"caption {number + 1} {problem}", "a sentence of storable text")
    ids = [caption.id for caption in record.captions if caption.id]
    if len(set(ids)) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise refuse(f"two captions have the id {short_repr(twice)}", "each caption once")
    if record.layer is not None and (problem := _bad_layer(record.layer, record)):
        raise refuse(problem, "a layer that fits its captions and its picture")


def _bad_text(text: str, limit: int | None = None) -> str:
    """Return the error of a text, or ""; PostgreSQL stores no NUL, UTF-8 no lone surrogate."""
    if bad := _UNSTORABLE.search(text):
        return f"holds U+{ord(bad.group()):04X}, which cannot be stored"
    if limit is not None and len(text) > limit:
        return f"is longer than {limit} characters"
    return ""


def is_visible(text: str) -> bool:
    """Whether a text has a visible character: not only white space, control characters, and fillers."""
    if text.isascii() and text.isprintable():
        return bool(text.strip())
    return any(sign not in _FILLERS and unicodedata.category(sign) not in _UNSEEN for sign in text)


def _bad_caption(caption: CaptionRecord) -> str:
    if not is_visible(caption.text):
        return "has no visible character" if caption.text.strip() else "is empty"
    if problem := _bad_text(caption.text):
        return problem
    if problem := _bad_text(caption.id, LONGEST_EXTERNAL_ID):
        return f"has an id that {problem}"
    if caption.tokens is not None:
        if not caption.tokens:
            return "has no words"
        joined = " ".join(caption.tokens)
        if joined.split() != list(caption.tokens) or _UNSTORABLE.search(joined):
            bad = next(word for word in caption.tokens if word.split() != [word] or _UNSTORABLE.search(word))
            return f"has the word {short_repr(bad)}, which is empty or holds white space"
    if len(caption.words) > MOST_PER_IMAGE:
        return f"has {len(caption.words)} words, more than {MOST_PER_IMAGE}"
    return ""


def _bad_layer(layer: LayerRecord, record: ImageRecord) -> str:
    """Return the error of a layer, or ""."""
    named: set[str] = set()
    spans: set[tuple[int, int, int]] = set()
    words = [caption.words for caption in record.captions]
    for chain in layer.chains:
        if not _CHAIN.fullmatch(chain.id):
            return f"the chain id {short_repr(chain.id)} is not valid (letters, digits and _ . : - only)"
        if chain.id == NOT_VISUAL:
            if len(chain.mentions) != 1:
                return f"a chain {NOT_VISUAL}, not visual, holds {len(chain.mentions)} mentions, not one"
        elif chain.id in named:
            return f"chain {chain.id} appears twice"
        named.add(chain.id)
        if problem := _bad_names(chain):
            return problem
        for mention in chain.mentions:
            if mention.caption >= len(words):
                return f"mention {mention.id} is of a caption that does not exist"
            if mention.tokens != words[mention.caption][mention.start : mention.end]:
                return f"mention {mention.id} {short_repr(mention.text)} is not what its caption says there"
            if mention.span in spans:
                return f"mention {mention.id} {short_repr(mention.text)} appears twice"
            spans.add(mention.span)
            if not mention.categories:
                return f"mention {mention.id} has no category"
            for category in mention.categories:
                if not _CATEGORY.fullmatch(category):
                    return f"mention {mention.id} has the category {short_repr(category)}"
            if len("/".join(mention.categories)) > LONGEST_CATEGORIES:
                return f"mention {mention.id} has more categories than fit {LONGEST_CATEGORIES} characters"
    return _bad_objects(layer, named - {NOT_VISUAL}, record)


def _bad_names(chain: Chain) -> str:
    """Return the error of a chain's label or phrases, or ""."""
    if chain.id == NOT_VISUAL and (chain.label or chain.phrases):
        return f"a chain {NOT_VISUAL}, not visual, has a label or a phrase of its own"
    for word, texts, limit in (
        ("label", (chain.label,) if chain.label else (), LONGEST_LABEL),
        ("phrase", chain.phrases, LONGEST_PHRASE),
    ):
        for text in texts:
            if problem := _bad_text(text, limit):
                return f"chain {chain.id} has a {word} that {problem}"
            if " ".join(text.split()) != text or not text:
                return f"chain {chain.id} has the {word} {short_repr(text)}; words with one space between"
    return ""


def _bad_objects(layer: LayerRecord, named: set[str], record: ImageRecord) -> str:
    boxless: set[str] = set()
    for obj in layer.objects:
        if not obj.chains or len(set(obj.chains)) < len(obj.chains):
            return f"an object names {' '.join(obj.chains) or 'no chain'}; each chain once"
        for chain in obj.chains:
            if chain not in named:
                return f"an object names chain {short_repr(chain)}, which is not among the visual chains"
        if obj.box is None:
            if obj.by_model:
                return (
                    f"an object without box for {obj.chains[0]} was drawn by a model annotator; "
                    "only boxes are drawn"
                )
            if len(obj.chains) > 1 or obj.chains[0] in boxless:
                return f"an object without box for {' '.join(obj.chains)}; one such object for one chain"
            boxless.add(obj.chains[0])
        elif obj.scene or obj.nobndbox:
            return f"an object of chain {obj.chains[0]} has both a box and a flag"
        elif max(obj.box.xmax, obj.box.ymax) > LARGEST_SIDE:
            return f"a box of chain {obj.chains[0]} reaches beyond {LARGEST_SIDE} pixels"
        elif (record.width and obj.box.xmax > record.width) or (
            record.height and obj.box.ymax > record.height
        ):
            box = obj.box
            return (
                f"the box {box.xmin},{box.ymin},{box.xmax},{box.ymax} reaches outside the picture "
                f"of {record.width} x {record.height}"
            )
    return ""
