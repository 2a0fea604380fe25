"""Regions of a corpus's pictures: boxes that are proposed, drawn by people or read from a file, with a vector
for each."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from annotation.common.operations import check_used
from annotation.common.readers import stream
from annotation.datasets.layers import layer_to_read
from annotation.protocol.contents import corners
from annotation.protocol.terms import ImageRecord, LayerRecord
from annotation.selectors.corpora import check_split, corpus_named, note_turned
from annotation.selectors.records import stream_records
from evaluation.comparison.provenance import UNDECLARED, Declaration, identities
from evaluation.formats.box_files import NAME_SPACES, FileBox, read_boxes
from evaluation.selectors import CorpusNames, names_of
from evaluation.services.common import InputError, check_file, check_name, phase_cache
from evaluation.services.features.extraction import check_declared, declared_network, layout_of, network_of
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
from phrasebox.balance import BELOW_DEPTH, BOXES, NOT_REQUESTED, OUTSIDE, UNKNOWN, current_tally
from phrasebox.metrics.localization import union_box
from phrasebox.registry import UnknownName
from phrasebox.text_files import short_repr

#: The settings class of each extractor, by its name.
REGION_EXTRACTORS: dict[str, type[Any]] = {"cnn": CNNSettings, "layout": LayoutSettings}
REGION_METHODS: tuple[str, ...] = (*PROPOSALS, "gold", "file")
#: Number of pictures whose boxes are cached together; an interrupted extraction continues after them.
PICTURES_PER_PHASE = 64
#: Number of boxes of a picture beyond twice the limit before the worst are discarded.
_SPARE_BOXES = 100


class _RegionExtractor(Protocol):
    """Computes vectors of regions."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""

    def describe_regions(
        self, picture: Picture, boxes: Sequence[tuple[int, int, int, int]]
    ) -> NDArray[np.float32]:
        """Return a vector for each box, shape (boxes, dimensions)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsRequest:
    """A request to extract regions: the method, the number per picture, and the extractor.

    `weights` is the network of the extractor `cnn`. `layer` is the one from which `gold` takes its boxes
    (where empty, the corpus's only one), all of them whatever the limit; `split` the images to process, all
    where empty; `file` a file of boxes (`evaluation.formats.box_files`). With `whole` the first region of
    each picture is the picture itself; with `leave_unused` boxes of images that the corpus lacks are skipped.
    `settings` are fields of the extractor's settings; `declared` is as in
    `ExtractRequest`.
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
    leave_unused: bool = True
    declared: Declaration = UNDECLARED


@dataclass(frozen=True, slots=True)
class ExtractedRegions:
    """The set, whether it is new, the number of images without a picture, and of images with no region but
    the whole picture.

    Of the boxes of a file, `clipped` extended beyond their picture and were clipped, `outside` were wholly
    outside, and `elsewhere` are of images of the corpus that were not processed; `unknown` are the images in
    the file that the corpus lacks, each once.
    """

    stored: FeatureSet
    created: bool
    excluded: int
    without: int
    clipped: int = 0
    outside: int = 0
    elsewhere: int = 0
    unknown: tuple[str, ...] = ()

    @property
    def remarks(self) -> list[str]:
        """Return remarks on the boxes of a file, a sentence each."""
        counts = (
            (self.clipped, "reached out of their picture and were cut"),
            (self.outside, "lay wholly outside and were left out"),
            (self.elsewhere, "are of images without a picture, or of another split, and were left out"),
        )
        remarks = [f"{number} boxes {what}" for number, what in counts if number]
        if self.unknown:
            remarks.append(f"{count_ids(self.unknown)} left out: the corpus has no such image")
        return remarks

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for reports."""
        return {
            **self.stored.as_dict(),
            "unchanged": not self.created,
            "excluded": self.excluded,
            "without": self.without,
            "clipped": self.clipped,
            "outside": self.outside,
            "elsewhere": self.elsewhere,
            "unknown": len(self.unknown),
            "remarks": self.remarks,
        }


def extract_regions(request: RegionsRequest, *, progress: PhaseProgress = no_progress) -> ExtractedRegions:
    """Find regions, compute their vectors, and write the set. An interrupted extraction continues where it
    stopped.

    Raises UnknownName, FormatError, InputError, BadWeights, BadPicture, ValueError if no image has a
    region, OSError and Busy.
    """
    check_name(request.name, "feature set")
    if request.method not in REGION_METHODS:
        raise InputError(f"method {request.method!r}: expected one of {', '.join(REGION_METHODS)}")
    if request.limit < 1:
        raise InputError(f"a limit of {request.limit} regions; expected 1 or more")
    check_declared(request.extractor, request.declared)
    extractor, origin = _extractor(request)
    learned = declared_network(request.declared, origin)
    corpus = corpus_named(request.corpus)
    layer = layer_to_read(corpus, request.layer or None) if request.method == "gold" else None
    if request.method == "gold" and layer is None:
        raise UnknownName(f"corpus {request.corpus!r} has no layer; import or draw boxes first")
    names = names_of(request.corpus)
    if request.split:
        check_split(corpus, request.split)
    every = zip(names.image_name.values(), stream_records(corpus=corpus, layer=layer), strict=True)
    records = [(name, record) for name, record in every if request.split in ("", record.split)]
    with_picture = [(name, record) for name, record in records if record.picture is not None]
    if not with_picture:
        raise ValueError(f"no image of corpus {request.corpus!r} has a picture; import it with its pictures")
    file = _FileBoxes(request.file, names, with_picture) if request.method == "file" else None
    boxes = file.read(request.limit) if file else _boxes(request, with_picture, progress)
    check_used(current_tally().sheet(), leave_unused=request.leave_unused)
    without = sum(not len(own_boxes) for own_boxes in boxes)
    if request.whole:
        boxes = [
            np.concatenate([whole_picture(record.width, record.height), own_boxes])
            for (_, record), own_boxes in zip(with_picture, boxes, strict=True)
        ]
    rows = [
        (name, record.picture, box)
        for (name, record), own_boxes in zip(with_picture, boxes, strict=True)
        for box in own_boxes
    ]
    if not rows:
        raise ValueError(f"no picture of corpus {request.corpus!r} has a region by {request.method}")

    def blocks(done: int) -> Iterator[NDArray[np.float32]]:
        while done < len(rows):
            path, end = rows[done][1], done
            while end < len(rows) and rows[end][1] == path:
                end += 1
            assert path is not None
            own_boxes = [(int(a), int(b), int(c), int(d)) for _, _, (a, b, c, d) in rows[done:end]]
            yield extractor.describe_regions(read_picture(path), own_boxes)
            done = end

    new = NewSet(
        corpus=request.corpus,
        name=request.name,
        kind="region",
        ids=[name for name, _, _ in rows],
        dimensions=extractor.dimensions,
        dtype=request.dtype,
        boxes=np.asarray([box for _, _, box in rows], np.float32),
        pictures=digest_of_pictures(path for _, path, _ in rows if path is not None),
        origin={
            "extractor": request.extractor,
            "regions": request.method,
            # 0: no limit.
            "limit": 0 if request.method == "gold" else request.limit,
            "whole": request.whole,
            "split": request.split,
            "layer": layer.name if layer else "",
            "boxes_from": request.file.name if request.file else "",
            **origin,
            "missing": len(records) - len(with_picture),
        },
        # A layout learns nothing; what proposed the boxes of a file is unknown.
        learned=identities(()).packed() if request.extractor == "layout" and file is None else learned,
    )
    stored, created = write_set(new, blocks, progress=progress)
    counts = (file.clipped, file.outside, file.elsewhere, tuple(file.unknown)) if file else ()
    return ExtractedRegions(stored, created, len(records) - len(with_picture), without, *counts)


def _extractor(request: RegionsRequest) -> tuple[_RegionExtractor, dict[str, Any]]:
    """Return the extractor, and its part of the set's origin."""
    if request.extractor not in REGION_EXTRACTORS:
        raise InputError(f"extractor {request.extractor!r}: expected one of {', '.join(REGION_EXTRACTORS)}")
    if request.extractor == "layout":
        return layout_of(request.settings, request.weights)
    if request.weights is None:
        raise InputError("extractor cnn needs a network; give an ONNX file, or weights")
    check_file(request.weights, "a network")
    network = network_of(request.weights, request.settings)
    return network, {
        "file": request.weights.name,
        "sha256": network.digest,
        "settings": network.settings.changed_settings,
    }


def _boxes(
    request: RegionsRequest, with_picture: Sequence[tuple[str, ImageRecord]], progress: PhaseProgress
) -> list[ProposedBoxes]:
    """Return the boxes of each picture, at most `limit`; of boxes that people drew all, since a limit would
    remove the boxes around several objects first."""
    if request.method == "gold":
        return [_known(record) for _, record in with_picture]
    cache = phase_cache()
    propose = PROPOSALS[_proposing(request.method)]
    proposed_boxes: list[ProposedBoxes] = []
    for start in range(0, len(with_picture), PICTURES_PER_PHASE):
        progress("finding regions", start, len(with_picture))
        part = [
            read_picture(record.picture)
            for _, record in with_picture[start : start + PICTURES_PER_PHASE]
            if record.picture
        ]

        def make(part: Sequence[Any] = part) -> dict[str, NDArray[Any]]:
            boxes_of_part = [propose(np.asarray(upright(picture)), request.limit) for picture in part]
            return {
                "boxes": np.concatenate(boxes_of_part),
                "counts": np.asarray([len(boxes) for boxes in boxes_of_part]),
            }

        settings = {
            "method": request.method,
            "limit": request.limit,
            "pictures": [picture.digest for picture in part],
        }
        arrays = cache.arrays("finding regions", settings, make)
        proposed_boxes += np.split(arrays["boxes"], np.cumsum(arrays["counts"])[:-1])
    progress("finding regions", len(with_picture), len(with_picture))
    return proposed_boxes


def _proposing(method: str) -> ProposalMethod:
    return next(known for known in get_args(ProposalMethod) if known == method)


def _known(record: ImageRecord) -> ProposedBoxes:
    """Return the boxes that people drew, then the box around all boxes of each chain that has several; each
    once.

    A phrase with several boxes has their union: Plummer et al. 2015, section 3.2.
    """
    layer = record.layer or LayerRecord()
    drawn = [corners(o.box) for o in layer.objects if o.box]
    around = [
        union_box([corners(box) for box in boxes]).astype(int).tolist()
        for boxes in layer.depicted().values()
        if len(boxes) > 1
    ]
    distinct = dict.fromkeys(tuple(box) for box in (*drawn, *around))
    return np.asarray(list(distinct), np.int32).reshape(-1, 4)


class _FileBoxes:
    """The boxes of a file for the pictures that are processed, the best of each, and counts of what was
    clipped or skipped."""

    def __init__(
        self, path: Path | None, names: CorpusNames, with_picture: Sequence[tuple[str, ImageRecord]]
    ) -> None:
        if path is None:
            raise InputError("method file needs a file of boxes")
        check_file(path, "a file of boxes (CSV, COCO results as JSON, npz)")
        self.path, self.names, self.images = path, names, with_picture
        self.image_of = {spaces: names.images_in(path, spaces) for spaces in NAME_SPACES}
        self.clipped = self.outside = self.elsewhere = 0
        self.unknown: Counter[str] = Counter()

    def read(self, limit: int) -> list[ProposedBoxes]:
        """Return the `limit` boxes of each picture with the highest scores; of equal scores, the first ones.

        Raises FormatError naming the invalid line, InputError if no box is of the corpus.
        """
        place_of = {name: index for index, (name, _) in enumerate(self.images)}
        boxes_of_images: list[list[FileBox]] = [[] for _ in self.images]
        of_corpus = 0
        for file_box in stream(read_boxes, self.path):
            image = self.image_of[file_box.spaces][file_box.image]
            if image is None:
                self.unknown[file_box.image] += 1
                continue
            of_corpus += 1
            index = place_of.get(self.names.image_name[image])
            if index is None:
                self.elsewhere += 1
                continue
            clipped_box = self._within(file_box.box, self.images[index][1])
            if clipped_box:
                boxes_of_images[index].append(file_box._replace(box=clipped_box))
                if len(boxes_of_images[index]) > _SPARE_BOXES + 2 * limit:
                    boxes_of_images[index] = _best(boxes_of_images[index], limit)
        if not of_corpus and self.unknown:
            raise InputError(
                f"{self.path}: proposals of another corpus: none of its images is of corpus "
                f"{self.names.corpus!r}: {count_ids(self.unknown)}; the corpus has, for example, "
                f"{short_repr(self.images[0][0])}"
            )
        best = [
            np.asarray([file_box.box for file_box in _best(clipped_box, limit)], np.int32).reshape(-1, 4)
            for clipped_box in boxes_of_images
        ]
        self._count(of_corpus, sum(map(len, best)))
        boxed = (name for (name, _), boxes in zip(self.images, best, strict=True) if len(boxes))
        note_turned(corpus_named(self.names.corpus), {self.names.image[name] for name in boxed})
        return best

    def _count(self, of_corpus: int, taken: int) -> None:
        tally = current_tally()
        tally.count(BOXES, of_corpus)
        tally.take(BOXES, taken)
        tally.leave(BOXES, OUTSIDE, self.outside)
        tally.leave(BOXES, NOT_REQUESTED, self.elsewhere)
        tally.leave(BOXES, BELOW_DEPTH, of_corpus - self.outside - self.elsewhere - taken)
        tally.pass_over(BOXES, UNKNOWN, self.unknown.total(), *self.unknown)

    def _within(
        self, box: tuple[int, int, int, int], record: ImageRecord
    ) -> tuple[int, int, int, int] | None:
        """Return the part of a box within the picture; None if there is none."""
        left, top, right, low = box
        clipped_box = (max(left, 1), max(top, 1), min(right, record.width), min(low, record.height))
        if clipped_box[0] > clipped_box[2] or clipped_box[1] > clipped_box[3]:
            self.outside += 1
            return None
        self.clipped += clipped_box != box
        return clipped_box


def _best(boxes: list[FileBox], limit: int) -> list[FileBox]:
    return sorted(boxes, key=lambda file_box: -file_box.score)[:limit]
