"""Regions of a corpus's pictures: boxes that are proposed, known or given, and a vector for each."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from annotation.common.registry import UnknownName
from annotation.datasets.layers import layer_to_read
from annotation.protocol.terms import ImageRecord
from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from evaluation.selectors import names_of
from evaluation.services.common import ImportRefused, check_file, check_name, phase_cache
from evaluation.services.features.extraction import network_of
from evaluation.services.features.store import FeatureSet, NewSet, write_set
from models_core.features.image.pictures import read_picture, upright
from models_core.features.image.proposals import PROPOSALS, ProposalMethod, ProposedBoxes, whole_picture
from models_core.phase_cache import PhaseProgress, no_progress

REGION_METHODS: tuple[str, ...] = (*PROPOSALS, "gold", "file")
#: Pictures whose boxes are kept together: what was stopped goes on after them.
PICTURES_PER_PHASE = 64
COLUMNS = ("image", "xmin", "ymin", "xmax", "ymax")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsRequest:
    """Regions to be found and described: by which method, how many a picture, by which network.

    `layer` is where `gold` takes its boxes from, the only one where empty; `file` a CSV file of boxes.
    With `whole` the picture itself is the first region of each. `settings` are fields of `CNNSettings`.
    """

    corpus: str
    name: str
    weights: Path
    method: str = "edgeboxes"
    limit: int = 19
    layer: str = ""
    file: Path | None = None
    whole: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class ExtractedRegions:
    """The set, whether it is new, how many images have no picture, and how many no region besides it."""

    stored: FeatureSet
    made: bool
    left_out: int
    without: int


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
    check_file(wanted.weights, "a network")
    network = network_of(wanted.weights, wanted.settings)
    corpus = corpus_named(wanted.corpus)
    layer = layer_to_read(corpus, wanted.layer or None) if wanted.method == "gold" else None
    if wanted.method == "gold" and layer is None:
        raise UnknownName(f"corpus {wanted.corpus!r} has no layer; import or draw boxes first")
    names = names_of(wanted.corpus).image_name.values()
    records = list(zip(names, stream_records(corpus=corpus, layer=layer), strict=True))
    shown = [(name, record) for name, record in records if record.picture is not None]
    if not shown:
        raise ValueError(f"no image of corpus {wanted.corpus!r} has a picture; import it with --images")
    boxes = _boxes(wanted, shown, progress)
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
            yield network.describe_regions(read_picture(path), own)
            done = end

    new = NewSet(
        corpus=wanted.corpus,
        name=wanted.name,
        kind="region",
        ids=[name for name, _, _ in rows],
        dimensions=network.dimensions,
        dtype=wanted.dtype,
        boxes=np.asarray([box for _, _, box in rows], np.float32),
        origin={
            "extractor": "cnn",
            "regions": wanted.method,
            "limit": wanted.limit,
            "whole": wanted.whole,
            "layer": layer.name if layer else "",
            "boxes_from": wanted.file.name if wanted.file else "",
            "file": wanted.weights.name,
            "sha256": network.digest,
            "settings": network.settings.said,
            "missing": len(records) - len(shown),
        },
    )
    stored, made = write_set(new, blocks, progress=progress)
    return ExtractedRegions(stored, made, len(records) - len(shown), without)


def _boxes(
    wanted: RegionsRequest, shown: Sequence[tuple[str, ImageRecord]], progress: PhaseProgress
) -> list[ProposedBoxes]:
    """The boxes of each picture, `limit` at most."""
    if wanted.method == "gold":
        return [_known(record)[: wanted.limit] for _, record in shown]
    if wanted.method == "file":
        return _read(wanted, shown)
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
    """The boxes that people drew, each once."""
    objects = record.layer.objects if record.layer else ()
    boxes = {(o.box.xmin, o.box.ymin, o.box.xmax, o.box.ymax): None for o in objects if o.box}
    return np.asarray(list(boxes), np.int32).reshape(-1, 4)


def _read(wanted: RegionsRequest, shown: Sequence[tuple[str, ImageRecord]]) -> list[ProposedBoxes]:
    """The boxes of a CSV file with the columns image, xmin, ymin, xmax and ymax.

    Raises ImportRefused naming the line that is wrong.
    """
    if wanted.file is None:
        raise ImportRefused("method file needs a file of boxes; give --boxes FILE")
    check_file(wanted.file, "a CSV file of boxes")
    place_of = {name: place for place, (name, _) in enumerate(shown)} | {
        record.id: place for place, (_, record) in enumerate(shown)
    }
    found: list[list[tuple[int, ...]]] = [[] for _ in shown]
    with wanted.file.open(encoding="utf-8", newline="") as stream:
        lines = csv.DictReader(stream)
        if not set(COLUMNS) <= set(lines.fieldnames or ()):
            raise ImportRefused(f"{wanted.file}: expected the columns {', '.join(COLUMNS)}")
        for number, line in enumerate(lines, 2):
            place = place_of.get(line["image"])
            if place is None:
                raise ImportRefused(
                    f"{wanted.file}, line {number}: image {line['image']!r} is not of corpus "
                    f"{wanted.corpus!r}, or has no picture"
                )
            record = shown[place][1]
            try:
                box = tuple(int(line[column]) for column in COLUMNS[1:])
            except (TypeError, ValueError):
                raise ImportRefused(f"{wanted.file}, line {number}: expected four whole numbers") from None
            if not (1 <= box[0] <= box[2] <= record.width and 1 <= box[1] <= box[3] <= record.height):
                raise ImportRefused(
                    f"{wanted.file}, line {number}: box {box} is not within a picture of {record.width} x "
                    f"{record.height}"
                )
            found[place].append(box)
    return [np.asarray(own[: wanted.limit], np.int32).reshape(-1, 4) for own in found]
