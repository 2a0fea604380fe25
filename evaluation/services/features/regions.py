"""Regions of a corpus's pictures: boxes that are proposed, known or given, and a vector for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from annotation.common.registry import UnknownName
from annotation.datasets.layers import layer_to_read
from annotation.formats.files.text import short_repr
from annotation.protocol.contents import corners
from annotation.protocol.terms import ImageRecord, LayerRecord
from annotation.selectors.corpora import check_split, corpus_named
from annotation.selectors.records import stream_records
from evaluation.comparison.provenance import UNDECLARED, Declaration, identities
from evaluation.formats.box_files import GivenBox, read_boxes
from evaluation.metrics.localization import union_box
from evaluation.selectors import CorpusNames, names_of
from evaluation.services.common import ImportRefused, check_file, check_name, phase_cache
from evaluation.services.features.extraction import (
    check_declared,
    declared_network,
    layout_of,
    network_of,
)
from evaluation.services.features.importing import count_ids
from evaluation.services.features.store import FeatureSet, NewSet, digest_of_pictures, write_set
from models_core.features.image.cnn import CNNSettings
from models_core.features.image.layout import LayoutSettings
from models_core.features.image.pictures import Picture, read_picture, upright
from models_core.features.image.proposals import (
    BEST_PROPOSALS,
    PROPOSALS,
    ProposalMethod,
    ProposedBoxes,
    whole_picture,
)
from models_core.phase_cache import PhaseProgress, no_progress

#: By an extractor's name, the settings that it takes.
REGION_EXTRACTORS: dict[str, type[Any]] = {"cnn": CNNSettings, "layout": LayoutSettings}
REGION_METHODS: tuple[str, ...] = (*PROPOSALS, "gold", "file")
#: Pictures whose boxes are kept together: what was stopped goes on after them.
PICTURES_PER_PHASE = 64
#: Boxes of a picture that are held beyond twice the limit, before the worst are let go.
_SPARE_BOXES = 100


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
    `file` a file of boxes (`evaluation.formats.box_files`). With `whole` the picture itself is the first
    region of each. `settings` are fields of the extractor's settings; `declared` is as in `ExtractRequest`.
    """

    corpus: str
    name: str
    extractor: str = "cnn"
    weights: Path | None = None
    method: str = BEST_PROPOSALS
    limit: int = 19
    layer: str = ""
    split: str = ""
    file: Path | None = None
    whole: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float32"
    declared: Declaration = UNDECLARED


@dataclass(frozen=True, slots=True)
class ExtractedRegions:
    """The set, whether it is new, how many images have no picture, and how many no region besides it.

    Of the boxes of a file, `clipped` reached out of their picture and were cut, `outside` lay wholly outside,
    and `elsewhere` are of images of the corpus that were not looked at; `unknown` are the images it names
    that the corpus lacks, each once.
    """

    stored: FeatureSet
    made: bool
    left_out: int
    without: int
    clipped: int = 0
    outside: int = 0
    elsewhere: int = 0
    unknown: tuple[str, ...] = ()

    @property
    def remarks(self) -> list[str]:
        """What is to be known of the boxes of a file, a sentence each."""
        counts = (
            (self.clipped, "reached out of their picture and were cut"),
            (self.outside, "lay wholly outside and were left out"),
            (self.elsewhere, "are of images without a picture, or of another split, and were left out"),
        )
        found = [f"{number} boxes {what}" for number, what in counts if number]
        if self.unknown:
            found.append(f"{count_ids(self.unknown)} left out: the corpus has no such image")
        return found

    def as_dict(self) -> dict[str, Any]:
        """Plain data for reports."""
        return {
            **self.stored.as_dict(),
            "unchanged": not self.made,
            "left_out": self.left_out,
            "without": self.without,
            "clipped": self.clipped,
            "outside": self.outside,
            "elsewhere": self.elsewhere,
            "unknown": len(self.unknown),
            "remarks": self.remarks,
        }


def extract_regions(wanted: RegionsRequest, *, progress: PhaseProgress = no_progress) -> ExtractedRegions:
    """Find regions, describe them, and write the set. What was stopped goes on where it ended.

    Raises UnknownName, FormatError, ImportRefused, BadWeights, BadPicture, ValueError where no image has a
    region, OSError and Busy.
    """
    check_name(wanted.name, "feature set")
    if wanted.method not in REGION_METHODS:
        raise ImportRefused(f"method {wanted.method!r}: expected one of {', '.join(REGION_METHODS)}")
    if wanted.limit < 1:
        raise ImportRefused(f"a limit of {wanted.limit} regions; expected 1 or more")
    check_declared(wanted.extractor, wanted.declared)
    extractor, origin = _extractor(wanted)
    learned = declared_network(wanted.declared, origin)
    corpus = corpus_named(wanted.corpus)
    layer = layer_to_read(corpus, wanted.layer or None) if wanted.method == "gold" else None
    if wanted.method == "gold" and layer is None:
        raise UnknownName(f"corpus {wanted.corpus!r} has no layer; import or draw boxes first")
    names = names_of(wanted.corpus)
    if wanted.split:
        check_split(corpus, wanted.split)
    every = zip(names.image_name.values(), stream_records(corpus=corpus, layer=layer), strict=True)
    records = [(name, record) for name, record in every if wanted.split in ("", record.split)]
    shown = [(name, record) for name, record in records if record.picture is not None]
    if not shown:
        raise ValueError(f"no image of corpus {wanted.corpus!r} has a picture; import it with its pictures")
    file = _FileBoxes(wanted.file, names, shown) if wanted.method == "file" else None
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
        pictures=digest_of_pictures(path for _, path, _ in rows if path is not None),
        origin={
            "extractor": wanted.extractor,
            "regions": wanted.method,
            # 0: none.
            "limit": 0 if wanted.method == "gold" else wanted.limit,
            "whole": wanted.whole,
            "split": wanted.split,
            "layer": layer.name if layer else "",
            "boxes_from": wanted.file.name if wanted.file else "",
            **origin,
            "missing": len(records) - len(shown),
        },
        # A layout learns nothing; what proposed the boxes of a file is not known.
        learned=identities(()).packed() if wanted.extractor == "layout" and file is None else learned,
    )
    stored, made = write_set(new, blocks, progress=progress)
    counts = (file.clipped, file.outside, file.elsewhere, tuple(file.unknown)) if file else ()
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
        "settings": network.settings.changed_settings,
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


class _FileBoxes:
    """The boxes of a file that fall to the pictures which are looked at, the best of each, and counts of what
    was cut or left out."""

    def __init__(
        self, path: Path | None, names: CorpusNames, shown: Sequence[tuple[str, ImageRecord]]
    ) -> None:
        if path is None:
            raise ImportRefused("method file needs a file of boxes")
        check_file(path, "a file of boxes (CSV, COCO results as JSON, npz)")
        self.path, self.names, self.shown = path, names, shown
        self.clipped = self.outside = self.elsewhere = 0
        self.unknown: dict[str, None] = {}

    def read(self, limit: int) -> list[ProposedBoxes]:
        """The `limit` boxes of each picture with the highest scores; of equal scores, the first ones.

        Raises FormatError naming the line that is wrong, ImportRefused where no box is of the corpus.
        """
        place_of = {name: place for place, (name, _) in enumerate(self.shown)}
        found: list[list[GivenBox]] = [[] for _ in self.shown]
        of_corpus = 0
        for given in read_boxes(self.path):
            image = self.names.image.get(given.image)
            if image is None:
                self.unknown.setdefault(given.image)
                continue
            of_corpus += 1
            place = place_of.get(self.names.image_name[image])
            if place is None:
                self.elsewhere += 1
                continue
            own = self._within(given.box, self.shown[place][1])
            if own:
                found[place].append(given._replace(box=own))
                if len(found[place]) > _SPARE_BOXES + 2 * limit:
                    found[place] = _best(found[place], limit)
        if not of_corpus and self.unknown:
            raise ImportRefused(
                f"{self.path}: proposals of another corpus: none of its images is of corpus "
                f"{self.names.corpus!r}: {count_ids(self.unknown)}; the corpus has, for example, "
                f"{short_repr(self.shown[0][0])}"
            )
        return [
            np.asarray([given.box for given in _best(own, limit)], np.int32).reshape(-1, 4) for own in found
        ]

    def _within(
        self, box: tuple[int, int, int, int], record: ImageRecord
    ) -> tuple[int, int, int, int] | None:
        """The part of a box that is in the picture; None where there is none."""
        left, top, right, low = box
        own = (max(left, 1), max(top, 1), min(right, record.width), min(low, record.height))
        if own[0] > own[2] or own[1] > own[3]:
            self.outside += 1
            return None
        self.clipped += own != box
        return own


def _best(boxes: list[GivenBox], limit: int) -> list[GivenBox]:
    return sorted(boxes, key=lambda given: -given.score)[:limit]
