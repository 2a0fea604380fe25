"""Localization sets as JSON Lines: a line for each mention, then one for each detected phrase.

    {"image": "1.jpg", "caption": 0, "start": 0, "end": 2, "phrase": "A man", "regions": [[1, 1, 50, 80, 1]]}
    {"phrase": "man", "detections": [["1.jpg", 1, 1, 50, 80, 0.7]]}

A region is xmin, ymin, xmax and ymax in pixels, counted from 1 and inclusive, and its score; the best comes
first. The score decides, as in a run (trec_eval reads runs so): regions and detections in another order are
sorted by decreasing score in single precision (stable), and such lines are counted. Captions are counted from
0 within their image, words from 0 within their caption, and `end` is exclusive; `phrase` has these words, in
any case and with any spaces and punctuation. Lines of detections may be left out: average precision is then
computed from the regions of the mentions. A phrase, in lower case without articles, has one such line.
"""

import json
import unicodedata
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from django.utils.translation import gettext_lazy as _
from numpy.typing import NDArray

from annotation.common.operations import Help, OperationContext, with_sheet
from annotation.common.readers import stream
from annotation.selectors.corpora import corpus_named, note_turned
from evaluation.formats.sent_files import read_json_lines
from evaluation.models import LocalizationSet
from evaluation.selectors import CorpusNames, captions_as_counted, image_sizes, names_of
from evaluation.services.imported_sets import PREDICTIONS_UPLOAD, SetImport, origin_of
from evaluation.services.localizations.sets import (
    REGION_NUMBERS,
    DetectedPhrase,
    LocalizationSetSummary,
    LocalizedMention,
    detections_of,
    localization_set_values,
    localized_mentions,
    write_rows,
)
from evaluation.services.stored import get_or_publish
from models_core.features.text.phrases import phrase_text
from phrasebox.balance import BOXES, MENTIONS, OUTSIDE, BalanceSheet, current_tally
from phrasebox.text_files import FormatError, short_repr, whole_file

#: The largest number that a region or a score may have: both are stored in single precision.
_LARGEST = float(np.finfo(np.float32).max)
_Line = TypeVar("_Line", LocalizedMention, DetectedPhrase)
_MENTION: tuple[str, ...] = ("image", "caption", "start", "end", "phrase", "regions")
_PHRASE: tuple[str, ...] = ("phrase", "detections")


def write_localizations(localization_set: LocalizationSet, path: Path) -> None:
    """Write the set to a new file. Raises FormatError if it exists already, and OSError."""
    names = names_of(localization_set.corpus.name).image_name
    with whole_file(path) as part, part.open("w", encoding="utf-8") as stream:
        for mention in localized_mentions(localization_set):
            line = {
                "image": names[mention.image],
                "caption": mention.caption,
                "start": mention.start,
                "end": mention.end,
                "phrase": mention.phrase,
                "regions": [_to_list(region) for region in mention.regions],
            }
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        for seen in detections_of(localization_set):
            detections = [
                [names[int(image)], *_to_list(region)]
                for image, region in zip(seen.images, seen.regions, strict=True)
            ]
            data = {"phrase": seen.phrase, "detections": detections}
            stream.write(json.dumps(data, ensure_ascii=False) + "\n")


def _to_list(region: NDArray[np.float32]) -> list[float]:
    """Return corners as integers where they are whole, and the score as the shortest number that reads back
    unchanged."""
    corners = [int(edge) if edge == int(edge) else float(edge) for edge in region[:4]]
    return [*corners, float(str(region[4]))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedLocalizations(LocalizationSetSummary):
    """A localization set with the results of reading its file; `phrases` have detections. `clipped` regions
    extended beyond their picture and were clipped. For this reading, and 0 if nothing changed: `outside`
    regions are wholly outside and were skipped, `reordered` lines were not in the order of their scores and
    were sorted, and `elsewhere` mentions are of other images than those requested: they are stored, but not
    counted. `unchanged`: the same file was read before."""

    phrases: int
    clipped: int
    outside: int
    reordered: int
    elsewhere: int
    unchanged: bool
    sheet: BalanceSheet = BalanceSheet()


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationsImport(SetImport):
    """Predictions made elsewhere: a line of JSON for each mention with its regions, and lines with the
    detections of phrases. All of them are stored, or none. Without a system, one with the set's name is
    created, with a declaration of its training data."""

    file: Annotated[Path, PREDICTIONS_UPLOAD, Help(_("Predictions"), _("JSON Lines (jsonl, jsonl.gz)"))]


@with_sheet
def import_localizations(request: LocalizationsImport, context: OperationContext) -> ImportedLocalizations:
    """Import a file of predictions as a set; reading the same file again changes nothing.

    Raises Invalid, UnknownName, InputError, BadSubset, Busy, and FormatError naming the line.
    """
    corpus, path = request.corpus, request.file
    origin = origin_of(request, context, "predictions as JSON Lines")
    reader = _Reader(
        path,
        origin.names,
        image_sizes(corpus),
        captions_as_counted(corpus),
        origin.subset.images if origin.subset else None,
    )

    def fill(localization_set: LocalizationSet) -> None:
        # The file is read twice, so that memory does not grow with it.
        write_rows(localization_set, reader.mentions(), reader.detected_phrases())
        if not localization_set.mention_count:
            raise FormatError("has no mention", file=path, expected="a line for each mention")
        localization_set.limit = reader.most_regions
        localization_set.clipped = reader.clipped
        origin.note_images(localization_set)

    localization_set, created = get_or_publish(LocalizationSet, request.name, origin.columns, fill)
    tally = current_tally()
    tally.take_others(MENTIONS, localization_set.mention_count)
    tally.count(BOXES, reader.regions)
    tally.take(BOXES, reader.regions - reader.outside)
    tally.leave(BOXES, OUTSIDE, reader.outside)
    note_turned(corpus_named(corpus), {image for image, *_position in reader.mention_lines})
    origin.link(localization_set, context)
    return ImportedLocalizations(
        **localization_set_values(localization_set),
        phrases=localization_set.detections.count(),
        clipped=localization_set.clipped,
        outside=reader.outside,
        reordered=reader.reordered,
        elsewhere=reader.elsewhere,
        unchanged=not created,
    )


class _Reader:
    """Reads a file line by line; counts what it clips, skips and sorts.

    `captions` has the words of each caption, joined by spaces, by its image and number. `images` are the ids
    of the images that the file covers (mentions of others are counted); None if unknown.
    """

    def __init__(
        self,
        path: Path,
        names: CorpusNames,
        sizes: dict[str, tuple[int, int]],
        captions: dict[int, dict[int, str]],
        images: Collection[int] | None,
    ) -> None:
        self.path, self.names, self.sizes, self.captions, self.images = path, names, sizes, captions, images
        self.image_of = names.images_in(path)
        self.regions = self.clipped = self.outside = self.reordered = self.elsewhere = self.most_regions = 0
        #: The line number of each mention, and of each phrase with detections.
        self.mention_lines: dict[tuple[int, int, int, int], int] = {}
        #: The phrases of mentions in the corpus's spelling; and the first phrase for each sequence of
        #: letters.
        self.phrases: set[str] = set()
        self.spelled: dict[str, str] = {}
        self.phrase_lines: dict[str, int] = {}

    def mentions(self) -> Iterator[LocalizedMention]:
        """Yield the mentions of the file, in its order. Raises FormatError naming the invalid line."""
        return self._read(_MENTION, self._mention)

    def detected_phrases(self) -> Iterator[DetectedPhrase]:
        """Yield the phrases of the file, in its order. Raises FormatError naming the invalid line."""
        return self._read(_PHRASE, self._detected)

    def _read(self, keys: tuple[str, ...], read: Callable[[dict[str, Any], int], _Line]) -> Iterator[_Line]:
        """Yield the content of the lines of one of the two kinds; skip those of the other."""
        for number, data in stream(read_json_lines, self.path, ", ".join(_MENTION)):
            try:
                expected = _PHRASE if "detections" in data else _MENTION
                if {"regions", "detections"} <= data.keys():
                    raise ValueError("has regions and detections; put them into lines of their own")
                if expected is not keys:
                    continue
                record = read(data, number)
            except FormatError:  # a name of two images
                raise
            except (ValueError, TypeError, KeyError, OverflowError) as error:
                what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
                raise FormatError(
                    what, file=self.path, line=number, expected=f"an object of {', '.join(expected)}"
                ) from None
            yield record

    def _mention(self, data: dict[str, Any], line: int) -> LocalizedMention:
        image = self._image(data["image"])
        caption, start, end = (_whole(data[key], key) for key in ("caption", "start", "end"))
        if not (0 <= start < end and 0 <= caption):
            raise ValueError(f"words {start} to {end} of caption {caption} are no mention")
        captions = self.captions.get(image, {})
        if caption not in captions:
            raise ValueError(
                f"image {short_repr(data['image'])} has no caption {short_repr(caption)}: it has "
                f"{len(captions)}, counted from 0"
            )
        words = captions[caption].split()
        if end > len(words):
            raise ValueError(
                f"words {short_repr(start)} to {short_repr(end)} are beyond caption {caption} of "
                f"{short_repr(data['image'])}, which has {len(words)}"
            )
        phrase, own_words = _text(data["phrase"]), " ".join(words[start:end])
        if _letters(phrase) != _letters(own_words):
            raise ValueError(
                f"words {start} to {end} of caption {caption} of {short_repr(data['image'])} are "
                f"{short_repr(own_words)}, not {short_repr(phrase)}; count the words as the corpus has them"
            )
        position = (image, caption, start, end)
        before = self.mention_lines.setdefault(position, line)
        if before != line:
            raise ValueError(
                f"the mention {caption}:{start}-{end} of {data['image']!r} comes twice: in line {before} too"
            )
        self.elsewhere += self.images is not None and image not in self.images
        regions = [self._region(data["image"], region) for region in _list(data["regions"], "regions")]
        packed = _packed([region for region in regions if region is not None])
        self.most_regions = max(self.most_regions, len(packed))
        # Counted under the corpus's spelling.
        counted_as = phrase_text(own_words)
        self.phrases.add(counted_as)
        self.spelled.setdefault(_letters(counted_as), counted_as)
        return LocalizedMention(*position, own_words, packed[self._by_score(packed)])

    def _detected(self, data: dict[str, Any], line: int) -> DetectedPhrase:
        phrase = phrase_text(_text(data["phrase"]))
        if phrase not in self.phrases:
            phrase = self.spelled.get(_letters(phrase), phrase)
        before = self.phrase_lines.setdefault(phrase, line)
        if before != line:
            raise ValueError(
                f"the phrase {short_repr(phrase)}, without its articles, has detections in line {before} "
                "too; put all of a phrase into one line"
            )
        images, regions = [], []
        for entry in _list(data["detections"], "detections"):
            image, *numbers = _list(entry, "detection") or [""]
            region = self._region(image, numbers)
            if region is not None:
                images.append(self._image(image))
                regions.append(region)
        packed = _packed(regions)
        order = self._by_score(packed)
        return DetectedPhrase(phrase, np.asarray(images, np.int64)[order], packed[order])

    def _by_score(self, packed: NDArray[np.float32]) -> NDArray[np.intp]:
        """Return the order by decreasing score (stable); counts a line that is in another order."""
        order = np.argsort(-packed[:, 4], kind="stable")
        self.reordered += bool((np.diff(order) < 0).any())
        return order

    def _image(self, name: Any) -> int:
        image = self.image_of[name] if isinstance(name, str) else None
        if image is None:
            raise ValueError(f"image {short_repr(str(name))} is not of corpus {self.names.corpus!r}")
        return image

    def _region(self, image: Any, region: Any) -> list[float] | None:
        """Return the region within its picture; None if it is wholly outside."""
        values = _list(region, "region")
        if not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
            raise ValueError(f"region {short_repr(region)} is not xmin, ymin, xmax, ymax and a score")
        numbers = [float(value) for value in values]
        if len(numbers) != REGION_NUMBERS or not np.isfinite(numbers).all():
            raise ValueError(f"region {short_repr(region)} is not xmin, ymin, xmax, ymax and a score")
        if max(map(abs, numbers)) > _LARGEST:
            raise ValueError(
                f"region {short_repr(region)} has a number beyond single precision, in which regions and "
                "scores "
                f"are kept ({_LARGEST:.4g})"
            )
        self.regions += 1
        left, top, right, low, score = numbers
        if right < left or low < top:
            raise ValueError(f"region {short_repr(region)} has corners in the wrong order")
        width, height = self.sizes.get(self.names.image_name[self._image(image)], (np.inf, np.inf))
        if right < 1 or low < 1 or left > width or top > height:
            self.outside += 1
            return None
        inside = [max(left, 1.0), max(top, 1.0), min(right, width), min(low, height)]
        self.clipped += inside != numbers[:4]
        return [*inside, score]


def _list(value: Any, key: str) -> list[Any]:
    """Return a JSON list; raises ValueError for anything else."""
    if not isinstance(value, list):
        raise ValueError(f"{key} {short_repr(value)} is no list")
    return value


def _whole(number: Any, key: str) -> int:
    """Return a whole JSON number, also from 1.0; raises ValueError for others, which would be truncated."""
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValueError(f"{key} {short_repr(number)} is no whole number")
    return number


def _text(phrase: Any) -> str:
    """Return the text of a phrase; raises ValueError for characters that no database stores."""
    if not isinstance(phrase, str) or "\x00" in phrase:
        raise ValueError(f"phrase {short_repr(phrase)} is no text")
    phrase.encode()  # half of a surrogate pair cannot be encoded; UnicodeEncodeError is a ValueError
    return phrase


def _letters(text: str) -> str:
    """Return what spellings of the same words have in common: letters and digits, lower-cased."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _packed(regions: list[list[float]]) -> NDArray[np.float32]:
    return np.asarray(regions, np.float32).reshape(-1, REGION_NUMBERS)
