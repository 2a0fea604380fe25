"""The operation that trains a model annotator."""

from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext_lazy as _

from annotation.campaigns import model_annotators
from annotation.campaigns.model_annotators import ModelAnnotatorName
from annotation.common.operations import Help, OperationContext
from annotation.selectors.corpora import CampaignRequest
from evaluation.services.model_annotators.training import TrainingReport, train_model_annotator
from evaluation.services.systems.sources import DeviceField
from phrasebox.device import CPU

#: The share of the progress at which training ends and proposing begins.
_TRAINED_AT = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainModelAnnotatorRequest(CampaignRequest):
    """A model annotator is trained on the finished images, or uses the stored proposer of the campaign's
    settings; its boxes are stored, replace those of a file, and are proposed."""

    model_annotator: Annotated[ModelAnnotatorName, Help(_("Model annotator"))]
    restart: Annotated[
        bool, Help(_("Restart"), _("It forgets what it learned last, and begins from the stored proposer"))
    ] = False
    device: DeviceField = CPU


def check_model_annotator_free(
    request: TrainModelAnnotatorRequest, context: OperationContext
) -> TrainModelAnnotatorRequest:
    """Raise CampaignError if the campaign is closed, or the model annotator is busy, and Invalid if the
    campaign has no such model annotator."""
    campaign = request.row()
    model_annotators.refuse_closed(campaign)
    model_annotators.refuse_busy(model_annotators.model_annotator_in(campaign, request.model_annotator))
    return request


def train(request: TrainModelAnnotatorRequest, context: OperationContext) -> TrainingReport:
    """Train the model annotator. A scheduled training does not replace boxes from a file. Raises as
    `train_model_annotator`, and Invalid where the campaign has no such model annotator."""
    model_annotators.model_annotator_in(request.row(), request.model_annotator)

    def report_progress(phase: str, done: int, of: int) -> None:
        start, end = (_TRAINED_AT, 1.0) if phase.startswith("proposing") else (0.0, _TRAINED_AT)
        context.report_progress(phase, start + (end - start) * done / max(1, of))

    return train_model_annotator(
        campaign=request.campaign,
        model_annotator=request.model_annotator,
        replaces_file=context.actor is not None or context.progress is None,
        restart=request.restart,
        device=request.device,
        report_progress=report_progress,
    )


def training_text(trained: TrainingReport) -> str:
    """Return the result of a training run in words."""
    return (
        f"model annotator {trained.model_annotator}, version {trained.version}, "
        f"learned from {trained.source}: boxes for {trained.images} images; "
        f"{trained.answers} questions answered at once"
        + (f"; they replace those of {trained.replaced}" if trained.replaced else "")
        + (f"; {trained.unreadable} pictures cannot be read" if trained.unreadable else "")
    )
