"""Operations that compute features of pictures."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import (
    LEAVE_UNUSED,
    FieldError,
    FileUpload,
    Help,
    Named,
    NewFile,
    OneOf,
    OperationContext,
    ServerFile,
    result_of,
    with_sheet,
)
from annotation.selectors.corpora import CORPORA, corpus_named
from evaluation.formats.box_files import BOX_SUFFIXES
from evaluation.formats.unpacked import bytes_inside
from evaluation.services.common import errors_without_folder
from evaluation.services.declarations import TrainedOn, declared_training
from evaluation.services.feature_requests import NumberType, SetName, StoredFeatures, set_values
from evaluation.services.features.extraction import EXTRACTORS, ExtractRequest, extract_set
from evaluation.services.features.regions import (
    REGION_EXTRACTORS,
    REGION_METHODS,
    RegionsRequest,
    extract_regions,
)
from evaluation.services.features.store import NUMBER_TYPES
from evaluation.services.phases import PhaseShares
from evaluation.services.request_fields import LayerField, check_images, check_layer
from evaluation.services.systems.training import Extracted, extract_features
from models_core.features.image.proposals import BEST_PROPOSALS

NETWORK_FILES = ServerFile("networks", (".onnx", ".safetensors", ".pth", ".pt"))
_BOX_FILES = ServerFile("boxes", BOX_SUFFIXES)
_FILE = "file"
_Weights = Annotated[
    Annotated[str, NETWORK_FILES] | None,
    Help(
        _("Network"),
        _("For cnn: an ONNX file, or weights of a network that the settings name (network = timm/NAME)"),
    ),
]
_Settings = Annotated[
    dict[str, Any], Help(_("Settings of the extractor"), _("As a table: crops = 10 and so on"))
]
_TITLES = {
    "cnn": _("a network"),
    "layout": _("colours, gradients and place"),
    "combined": _("Gong et al. 2014"),
}
_METHODS = {
    "edges-and-segments": _("edges and segments"),
    "edgeboxes": _("edge boxes"),
    "selective-search": _("selective search"),
    "grid": _("a grid"),
    "gold": _("boxes of a layer"),
    _FILE: _("boxes of a file"),
}


def _extractors() -> dict[str, Any]:
    return {name: _TITLES.get(name) for name in EXTRACTORS}


def _region_extractors() -> dict[str, Any]:
    return {name: _TITLES.get(name) for name in REGION_EXTRACTORS}


def _region_methods() -> dict[str, Any]:
    return {name: _METHODS.get(name) for name in REGION_METHODS}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractFeaturesRequest:
    """A vector is computed for each picture of a corpus, and they become a feature set. An interrupted run
    resumes."""

    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    name: SetName
    extractor: Annotated[str, OneOf(_extractors), Help(_("Described by"))] = "cnn"
    weights: _Weights = None
    learn_corpus: Annotated[
        Annotated[str, Named(CORPORA)] | None,
        Help(_("Learned from"), _("For combined: the corpus whose pictures it learns from, else the same")),
    ] = None
    extractor_settings: _Settings = field(default_factory=dict)
    dtype: NumberType = NUMBER_TYPES[0]
    trained_on: TrainedOn = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractRegionsRequest:
    """Regions of each picture of a corpus are detected, and described by a vector each: a feature set of
    regions. An interrupted run resumes."""

    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    name: SetName
    method: Annotated[str, OneOf(_region_methods), Help(_("Regions by"))] = BEST_PROPOSALS
    limit: Annotated[
        int, Field(ge=1, le=10_000), Help(_("Regions of a picture, at most"), _("Gold takes all"))
    ] = 19
    layer: Annotated[LayerField, Help(_("Layer"), _("For gold: whose boxes are taken"))] = ""
    split: Annotated[str, Field(max_length=100), Help(_("Split"), _("Else all images"))] = ""
    boxes: Annotated[
        Annotated[Path, FileUpload(2**30, bytes_inside)] | None,
        Help(_("File of boxes"), _("COCO results as JSON, npz, or CSV: image, xmin, ymin, xmax, ymax")),
    ] = None
    server_boxes: Annotated[
        Annotated[str, _BOX_FILES] | None, Help(_("Or a file on the server"), _("In sources/boxes"))
    ] = None
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False
    whole: Annotated[bool, Help(_("The whole picture is the first of its regions"))] = True
    extractor: Annotated[str, OneOf(_region_extractors), Help(_("Described by"))] = "cnn"
    weights: _Weights = None
    extractor_settings: _Settings = field(default_factory=dict)
    dtype: NumberType = NUMBER_TYPES[0]
    trained_on: TrainedOn = ""

    def problems(self) -> Iterator[FieldError]:
        """Errors: a file of boxes goes with the method of that name, and with no other."""
        files = [name for name in ("boxes", "server_boxes") if getattr(self, name) is not None]
        if self.method == _FILE and not files:
            yield FieldError("boxes", "missing")
        if self.method != _FILE and files:
            yield FieldError(files[0], "only_with", {"other": f"method {_FILE}"})
        if self.leave_unused and not files:
            yield FieldError("leave_unused", "only_with", {"other": "boxes"})
        if len(files) == 2:
            yield FieldError("server_boxes", "not_with", {"other": "boxes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class VisualWordsRequest:
    """Codebooks are learned from a corpus's pictures, and every picture's words of colour, texture and shape
    are stored for trainings and cross-validations."""

    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed of the codebooks"))] = 0


def check_regions(request: ExtractRegionsRequest, context: OperationContext) -> ExtractRegionsRequest:
    """Raise Invalid for a split or a layer that the corpus does not have."""
    corpus = corpus_named(request.corpus)
    check_images("split", request.split, corpus, context)
    check_layer("layer", request.layer, corpus)
    return request


def extract_requested_features(request: ExtractFeaturesRequest, context: OperationContext) -> StoredFeatures:
    """Compute a feature set; raises as `extract_set` does."""
    extraction = result_of(
        ExtractRequest,
        request,
        weights=_weights(request.weights, context),
        learn_corpus=request.learn_corpus or "",
        settings=request.extractor_settings,
        declared=declared_training(request.trained_on, context),
    )
    stored, new, absent = extract_set(extraction, progress=PhaseShares(context.report_progress))
    return StoredFeatures(**set_values(stored), unchanged=not new, remarks=_without_pictures(absent))


@with_sheet
def extract_requested_regions(request: ExtractRegionsRequest, context: OperationContext) -> StoredFeatures:
    """Compute a feature set of regions; raises as `extract_regions` does."""
    check_regions(request, context)
    file = request.boxes
    if request.server_boxes is not None:
        file = _BOX_FILES.path(request.server_boxes, by_path=context.by_path)
    extraction = result_of(
        RegionsRequest,
        request,
        weights=_weights(request.weights, context),
        file=file,
        settings=request.extractor_settings,
        declared=declared_training(request.trained_on, context),
    )
    if file is None:
        extracted = extract_regions(extraction, progress=PhaseShares(context.report_progress))
    else:
        with errors_without_folder(file, context):
            extracted = extract_regions(extraction, progress=PhaseShares(context.report_progress))
    without = (f"{extracted.without} images have no region besides the whole",) if extracted.without else ()
    remarks = (*_without_pictures(extracted.excluded), *without, *extracted.remarks)
    return StoredFeatures(**set_values(extracted.stored), unchanged=not extracted.created, remarks=remarks)


def extract_visual_words(request: VisualWordsRequest, context: OperationContext) -> Extracted:
    """Store every picture's visual words; raises as `extract_features` does."""
    return extract_features(
        corpus=request.corpus, seed=request.seed, progress=PhaseShares(context.report_progress)
    )


def export_visual_words(request: VisualWordsRequest, context: OperationContext) -> NewFile:
    """Return a file of histograms of visual words, which trainings accept as vectors of images."""

    def write(out: Path) -> Extracted:
        phases = PhaseShares(context.report_progress)
        return extract_features(corpus=request.corpus, out=out, seed=request.seed, progress=phases)

    return NewFile(f"{request.corpus}.safetensors", write)


def _weights(name: str | None, context: OperationContext) -> Path | None:
    return None if name is None else NETWORK_FILES.path(name, by_path=context.by_path)


def _without_pictures(number: int) -> tuple[str, ...]:
    return (f"{number} images have no picture",) if number else ()
