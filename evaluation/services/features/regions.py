"""Regions of a corpus's pictures: boxes that are proposed, known or given, and a vector for each."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from annotation.common.registry import UnknownName
from annotation.datasets.layers import layer_to_read
from annotation.protocol.contents import corners
from annotation.protocol.terms import ImageRecord, LayerRecord
from annotation.selectors.corpora import check_split, corpus_named
from annotation.selectors.records import stream_records
from evaluation.metrics.localization import union_box
from evaluation.selectors import names_of
from evaluation.services.common import ImportRefused, check_file, check_name, phase_cache
from evaluation.services.features.extraction import layout_of, network_of
from evaluation.services.features.store import FeatureSet, NewSet, write_set
from models_core.features.image.cnn import CNNSettings
from models_core.features.image.layout import LayoutSettings
from models_core.features.image.pictures import Picture, read_picture, upright
from models_core.features.image.proposals import PROPOSALS, ProposalMethod, ProposedBoxes, whole_picture
from models_core.phase_cache import PhaseProgress, no_progress

#: By an extractor's name, the settings that it takes.
REGION_EXTRACTORS: dict[str, type[Any]] = {"cnn": CNNSettings, "layout": LayoutSettings}
REGION_METHODS: tuple[str, ...] = (*PROPOSALS, "gold", "file")
#: Pictures whose boxes are kept together: what was stopped goes on after them.
PICTURES_PER_PHASE = 64
COLUMNS = ("image", "xmin", "ymin", "xmax", "ymax")


class _RegionExtractor(Protocol):
    """What describes regions."""

    @property
    def dimensions(self) -> int:
        """The length of vectors."""

    def describe_regions(
        self, picture: Picture, boxes: Sequence[tuple[int, int, int, int]]
    ) -> NDArray[np.float32]:
        """A vector for each box, shape (boxes, dimensions)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsRequest:
    """Regions to be found and described: by which method, how many a picture, by which extractor.

    `weights` is the network of the extractor `cnn`. `layer` is where `gold` takes its boxes from, the only
    one where empty, all of them whatever the limit; `split` the images that are looked at, all where empty;
    `file` a CSV file of boxes. With `whole` the picture itself is the first region of each. `settings` are
    fields of the extractor's settings.
    """

    corpus: str
    name: str
    extractor: str = "cnn"
    weights: Path | None = None
    method: str = "edgeboxes"
    limit: int = 19
    layer: str = ""
    split: str = ""
    file: Path | None = None
    whole: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class ExtractedRegions:
    """The set, whether it is new, how many images have no picture, and how many no region besides it.

    `clipped` boxes of a file reached out of their picture, and `outside` ones lay wholly outside.
    """

    stored: FeatureSet
    made: bool
    left_out: int
    without: int
    clipped: int = 0
    outside: int = 0


def extract_regions(wanted: RegionsRequest, *, progress: PhaseProgress = no_progress) -> ExtractedRegions:
    """Find regions, describe them, and write the set. What was stopped goes on where it ended.

    Raises UnknownName, ImportRefused, BadWeights, BadPicture, ValueError where no image has a region, OSError
    and Busy.
    """
    check_name(wanted.name, "feature set")
    if wanted.method not in REGION_METHODS:
        raise ImportRefused(f"method {wanted.method!r}: expected one of {', '.join(REGION_METHODS)}")
    if wanted.limit < 1:
        raise ImportRefused(f"a limit of {wanted.limit} regions; expected 1 or more")
    extractor, origin = _extractor(wanted)
    corpus = corpus_named(wanted.corpus)
    layer = layer_to_read(corpus, wanted.layer or None) if wanted.method == "gold" else None
    if wanted.method == "gold" and layer is None:
        raise UnknownName(f"corpus {wanted.corpus!r} has no layer; import or draw boxes first")
    names = names_of(wanted.corpus).image_name.values()
    if wanted.split:
        check_split(corpus, wanted.split)
    every = zip(names, stream_records(corpus=corpus, layer=layer), strict=True)
    records = [(name, record) for name, record in every if wanted.split in ("", record.split)]
    shown = [(name, record) for name, record in records if record.picture is not None]
    if not shown:
        raise ValueError(f"no image of corpus {wanted.corpus!r} has a picture; import it with --images")
    file = _BoxFile(wanted.file, wanted.corpus, shown) if wanted.method == "file" else None
    boxes = file.read(wanted.limit) if file else _boxes(wanted, shown, progress)
    without = sum(not len(own) for own in boxes)
    if wanted.whole:
        boxes = [
            np.concatenate([whole_picture(record.width, record.height), own])
            for (_, record), own in zip(shown, boxes, strict=True)
        ]
    rows = [
        (name, record.picture, box) for (name, record), own in zip(shown, boxes, strict=True) for box in own
    ]
    if not rows:
        raise ValueError(f"no picture of corpus {wanted.corpus!r} has a region by {wanted.method}")

    def blocks(done: int) -> Iterator[NDArray[np.float32]]:
        while done < len(rows):
            path, end = rows[done][1], done
            while end < len(rows) and rows[end][1] == path:
                end += 1
            assert path is not None
            own = [(int(a), int(b), int(c), int(d)) for _, _, (a, b, c, d) in rows[done:end]]
            yield extractor.describe_regions(read_picture(path), own)
            done = end

    new = NewSet(
        corpus=wanted.corpus,
        name=wanted.name,
        kind="region",
        ids=[name for name, _, _ in rows],
        dimensions=extractor.dimensions,
        dtype=wanted.dtype,
        boxes=np.asarray([box for _, _, box in rows], np.float32),
        origin={
            "extractor": wanted.extractor,
            "regions": wanted.method,
            # 0: none.
            "limit": 0 if wanted.method == "gold" else wanted.limit,
            "whole": wanted.whole,
            # Origins of sets that were made before there were these have no such key.
            **({"split": wanted.split} if wanted.split else {}),
            "layer": layer.name if layer else "",
            "boxes_from": wanted.file.name if wanted.file else "",
            **origin,
            "missing": len(records) - len(shown),
        },
    )
    stored, made = write_set(new, blocks, progress=progress)
    counts = (file.clipped, file.outside) if file else (0, 0)
    return ExtractedRegions(stored, made, len(records) - len(shown), without, *counts)


def _extractor(wanted: RegionsRequest) -> tuple[_RegionExtractor, dict[str, Any]]:
    """What describes regions, and what the set's origin says of it."""
    if wanted.extractor not in REGION_EXTRACTORS:
        raise ImportRefused(f"extractor {wanted.extractor!r}: expected one of {', '.join(REGION_EXTRACTORS)}")
    if wanted.extractor == "layout":
        return layout_of(wanted.settings, wanted.weights)
    if wanted.weights is None:
        raise ImportRefused("extractor cnn needs a network; give an ONNX file, or weights")
    check_file(wanted.weights, "a network")
    network = network_of(wanted.weights, wanted.settings)
    return network, {
        "file": wanted.weights.name,
        "sha256": network.digest,
        "settings": network.settings.said,
    }


def _boxes(
    wanted: RegionsRequest, shown: Sequence[tuple[str, ImageRecord]], progress: PhaseProgress
) -> list[ProposedBoxes]:
    """The boxes of each picture, `limit` at most; all that people drew, since the boxes around several would
    be the first to go."""
    if wanted.method == "gold":
        return [_known(record) for _, record in shown]
    kept = phase_cache()
    propose = PROPOSALS[_proposing(wanted.method)]
    found: list[ProposedBoxes] = []
    for start in range(0, len(shown), PICTURES_PER_PHASE):
        progress("finding regions", start, len(shown))
        part = [
            read_picture(record.picture)
            for _, record in shown[start : start + PICTURES_PER_PHASE]
            if record.picture
        ]

        def make(part: Sequence[Any] = part) -> dict[str, NDArray[Any]]:
            own = [propose(np.asarray(upright(picture)), wanted.limit) for picture in part]
            return {"boxes": np.concatenate(own), "counts": np.asarray([len(boxes) for boxes in own])}

        facts = {
            "method": wanted.method,
            "limit": wanted.limit,
            "pictures": [picture.digest for picture in part],
        }
        made = kept.arrays("finding regions", facts, make)
        found += np.split(made["boxes"], np.cumsum(made["counts"])[:-1])
    progress("finding regions", len(shown), len(shown))
    return found


def _proposing(method: str) -> ProposalMethod:
    return next(known for known in get_args(ProposalMethod) if known == method)


def _known(record: ImageRecord) -> ProposedBoxes:
    """The boxes that people drew, then the boxes around all of a chain that has several; each once.

    A phrase with several boxes has their union: Plummer et al. 2015, section 3.2.
    """
    layer = record.layer or LayerRecord()
    drawn = [corners(o.box) for o in layer.objects if o.box]
    around = [
        union_box([corners(box) for box in boxes]).astype(int).tolist()
        for boxes in layer.depicted().values()
        if len(boxes) > 1
    ]
    each = dict.fromkeys(tuple(box) for box in (*drawn, *around))
    return np.asarray(list(each), np.int32).reshape(-1, 4)


class _BoxFile:
    """A CSV file with the columns image, xmin, ymin, xmax and ymax; counts the boxes that it clips, and those
    that it leaves out since they lie wholly outside of their picture."""

    def __init__(self, path: Path | None, corpus: str, shown: Sequence[tuple[str, ImageRecord]]) -> None:
        if path is None:
            raise ImportRefused("method file needs a file of boxes; give --boxes FILE")
        check_file(path, "a CSV file of boxes")
        self.path, self.corpus, self.shown = path, corpus, shown
        self.clipped = self.outside = 0

    def read(self, limit: int) -> list[ProposedBoxes]:
        """The first `limit` boxes of each picture. Raises ImportRefused naming the line that is wrong."""
        place_of = {name: place for place, (name, _) in enumerate(self.shown)} | {
            record.id: place for place, (_, record) in enumerate(self.shown)
        }
        found: list[list[tuple[int, ...]]] = [[] for _ in self.shown]
        with self.path.open(encoding="utf-8", newline="") as stream:
            lines = csv.DictReader(stream)
            if not set(COLUMNS) <= set(lines.fieldnames or ()):
                raise ImportRefused(f"{self.path}: expected the columns {', '.join(COLUMNS)}")
            for number, line in enumerate(lines, 2):
                place = place_of.get(line["image"])
                if place is None:
                    raise ImportRefused(
                        f"{self.path}, line {number}: image {line['image']!r} is not of corpus "
                        f"{self.corpus!r}, or has no picture"
                    )
                try:
                    box = tuple(int(line[column]) for column in COLUMNS[1:])
                except (TypeError, ValueError):
                    raise ImportRefused(f"{self.path}, line {number}: expected four whole numbers") from None
                if box[0] > box[2] or box[1] > box[3]:
                    raise ImportRefused(
                        f"{self.path}, line {number}: box {box} has its corners in the wrong order"
                    )
                own = self._within(box, self.shown[place][1])
                if own:
                    found[place].append(own)
        return [np.asarray(own[:limit], np.int32).reshape(-1, 4) for own in found]

    def _within(self, box: tuple[int, ...], record: ImageRecord) -> tuple[int, ...]:
        """The part of a box that is in the picture; nothing where there is none."""
        left, top, right, low = box
        own = (max(left, 1), max(top, 1), min(right, record.width), min(low, record.height))
        if own[0] > own[2] or own[1] > own[3]:
            self.outside += 1
            return ()
        self.clipped += own != box
        return own
