"""A model annotator's proposed boxes as a file: exporting them, and importing those of another program."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.campaigns import model_annotators
from annotation.common.operations import FileUpload, Help, NewFile, OperationContext, with_sheet
from annotation.common.readers import stream
from annotation.formats.layers.proposals import OutOfPicture, read_proposals_within, write_proposals
from annotation.models import ModelAnnotator
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.model_annotators import Proposals
from annotation.queue import model_answers, submission
from annotation.selectors.corpora import CampaignRequest, names_of_images, note_turned
from annotation.selectors.model_annotators.proposals import picture_sizes, stored_proposals
from phrasebox.balance import BalanceSheet

_NamedModelAnnotator = Annotated[model_annotators.ModelAnnotatorName, Help(gettext_lazy("Model annotator"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportProposalsRequest(CampaignRequest):
    """JSON lines, one per image, which can be imported and studied."""

    model_annotator: _NamedModelAnnotator


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportProposalsRequest(CampaignRequest):
    """The model annotator answers with them at once, and is no longer trained automatically: training it
    replaces them."""

    model_annotator: _NamedModelAnnotator
    file: Annotated[
        Path,
        FileUpload(),
        Help(
            gettext_lazy("File"),
            'JSON, an image in each line: {"image": KEY, "boxes": '
            "{MENTION: [[xmin, ymin, xmax, ymax, chance], ...]}}",
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenProposals:
    """The number of images whose boxes were written, and the version of the model annotator."""

    version: int
    images: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedProposals:
    """The number of images for which a model annotator now has boxes, and of questions that it answered at
    once. `clipped` boxes extended beyond their picture, and boxes `outside` of it were skipped."""

    campaign: str
    model_annotator: str
    version: int
    images: int
    answers: int
    clipped: int
    outside: int
    sheet: BalanceSheet = BalanceSheet()


def export_proposals(request: ExportProposalsRequest, context: OperationContext) -> NewFile:
    """Return a model annotator's proposed boxes as a file."""
    model_annotator = model_annotators.model_annotator_in(request.row(), request.model_annotator)
    return NewFile(f"{request.campaign}-{model_annotator.name}.jsonl", partial(_write, model_annotator))


def _write(model_annotator: ModelAnnotator, path: Path) -> WrittenProposals:
    images = write_proposals(path, stored_proposals(model_annotator))
    return WrittenProposals(version=model_annotator.version, images=images)


@with_sheet
def import_proposals(request: ImportProposalsRequest, context: OperationContext) -> ImportedProposals:
    """Store a model annotator's boxes, and let it answer. Raises Busy, CampaignError and FormatError."""
    campaign = request.row()
    model_annotator = model_annotators.model_annotator_in(campaign, request.model_annotator)
    model_annotators.refuse_busy(model_annotator)
    out, names = OutOfPicture(), tuple(names_of_images(campaign.corpus).images.values())
    boxed: set[str] = set()

    def proposals() -> Iterator[tuple[str, Proposals]]:
        nonlocal out
        for part in stream(read_proposals_within, request.file, picture_sizes(campaign), names):
            if isinstance(part, OutOfPicture):
                out = part
            else:
                boxed.add(part[0])
                yield part

    with model_annotators.training_run(model_annotator) as (version, _folder):
        images = model_annotators.store_proposals(model_annotator, proposals(), version=version)
        if not images:
            raise CampaignError(
                _("%(file)s has no image; the model annotator was not changed") % {"file": request.file}
            )
        source = f"file {request.file.name}"
        model_annotators.record_training(
            model_annotator, images=None, source=source, external=True, adds=True
        )
    note_turned(campaign.corpus, {name.item for name in names if name.key in boxed})
    answers = model_answers.answer_waiting_images(campaign, submission.submit)
    return ImportedProposals(
        campaign=campaign.name,
        model_annotator=model_annotator.name,
        version=version,
        images=images,
        answers=answers,
        clipped=out.clipped,
        outside=out.outside,
    )
