"""Karpathy's `dataset_*.json`: images with their split and their sentences, raw and as words.

Source of the notation: the files published with Karpathy and Fei-Fei 2015.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from annotation.formats.base import FORMATS, Format, Written, report_problem
from annotation.formats.checks import LocatedRecord, checked_records, writable
from annotation.formats.fields import Fields, Numbering, is_number
from annotation.formats.files.json_stream import has_list, items
from annotation.formats.names import Pictures, only_file, path_in_source
from annotation.protocol.terms import CaptionRecord, ImageRecord
from phrasebox.text_files import FormatError, open_new, short_repr

_SHAPE = '{"images": [{"filename": ..., "split": ..., "sentences": [{"raw": ..., "tokens": [...]}]}]}'


class Karpathy(Format):
    """Captions with their words, splits, COCO ids; no sizes, no mentions."""

    key = "karpathy"
    title = "Karpathy's dataset JSON (images, splits, sentences with tokens)"
    reads = True
    writes = True
    loading = 'import json, pandas\nimages = pandas.DataFrame(json.load(open("dataset.json"))["images"])'
    says = frozenset({"splits", "words", "external_ids", "caption_ids"})

    def read(self, path: Path, *, images: Path | None = None) -> Iterator[ImageRecord]:
        return checked_records(self._located(path, images), source=path, expected=_SHAPE)

    def _located(self, path: Path, images: Path | None) -> Iterator[LocatedRecord]:
        file = only_file(path, "*.json")
        number, pictures = 0, Pictures(images)
        for number, item in enumerate(items(file, "images.item"), 1):
            try:
                record = self._record(item, number, file, pictures)
            except FormatError as error:
                report_problem(error, captions=_sentence_count(item))
                continue
            yield record, file, None
        if not number and not has_list(file, "images"):
            raise FormatError('has no list "images"', file=file, expected=_SHAPE)

    @staticmethod
    def _record(item: Any, number: int, file: Path, pictures: Pictures) -> ImageRecord:
        image = Fields(item, what=f"image {number}", file=file)
        filename = path_in_source(image.text("filename"))
        image.what = f"image {number} ({short_repr(filename)})"
        folder = image.text("filepath", "")
        captions = []
        for index, value in enumerate(image.list("sentences"), 1):
            sentence = Fields(value, what=f"{image.what}, sentence {index}", file=file)
            text = sentence.text("raw").strip()
            words = sentence.strings("tokens") if "tokens" in sentence.value else tuple(text.split())
            captions.append(
                CaptionRecord(
                    text,
                    tokens=None if words == tuple(text.split()) else words,
                    id=sentence.identifier("sentid", ""),
                )
            )
        return ImageRecord(
            id="",
            filename=filename,
            captions=tuple(captions),
            split=image.text("split", ""),
            # COCO's pictures are in train2014 and val2014, the others in one folder.
            picture=pictures.find(f"{folder}/{filename}", filename),
            external_id=image.identifier("cocoid", ""),
        )

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        """Write `dataset.json`. Caption ids that are no whole numbers are replaced by running numbers."""
        file = out / "dataset.json"
        written = Written(files=[file])
        sentids = Numbering(first=0)
        with open_new(file) as stream:
            stream.write('{"images": [')
            for imgid, record in enumerate(writable(records, out, format=self, written=written)):
                sentences = []
                for caption in record.captions:
                    try:
                        sentid = sentids.number(caption.id)
                    except ValueError as error:
                        raise FormatError(
                            f"a caption of {short_repr(record.id)} {error}",
                            file=file,
                            expected="whole numbers in all, or the format jsonl",
                        ) from error
                    written.leave_out("caption_ids", caption.id not in ("", str(sentid)))
                    sentences.append(
                        {
                            "tokens": caption.words,
                            "raw": caption.text.strip(),
                            "imgid": imgid,
                            "sentid": sentid,
                        }
                    )
                entry: dict[str, Any] = {
                    "filename": record.filename,
                    "imgid": imgid,
                    "sentids": [sentence["sentid"] for sentence in sentences],
                    "split": record.split,
                    "sentences": sentences,
                }
                if is_number(record.external_id):
                    entry["cocoid"] = int(record.external_id)
                else:
                    written.leave_out("external_ids", record.external_id != "")
                stream.write((",\n" if imgid else "\n") + json.dumps(entry))
                written.add("images")
                written.add("captions", len(record.captions))
            stream.write('\n], "dataset": "phrasebox"}\n')
        return written


def _sentence_count(item: Any) -> int:
    """Return the number of sentences of a possibly invalid entry."""
    sentences = item.get("sentences") if isinstance(item, dict) else None
    return len(sentences) if isinstance(sentences, list) else 0


FORMATS.register(Karpathy.key, Karpathy())
