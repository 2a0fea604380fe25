"""The job in which a campaign's model annotator proposes boxes for images that were opened since its last
training."""

from typing import Any

from django.utils.translation import gettext_lazy

from annotation.campaigns.model_annotators import PROPOSE_JOB
from annotation.jobs import JobError, JobProgress, job_kind
from evaluation.services.model_annotators.training import propose_boxes
from evaluation.services.phases import PhaseShares
from models_core.estimators.base import Method


class Phases(PhaseShares):
    """A callback for phases that reports to a job: it names the phase, and the share never decreases.

    Raises what `Progress.advance` raises.
    """

    def __init__(self, progress: JobProgress, method: Method | None = None) -> None:
        super().__init__(
            lambda phase, share: progress.advance(max(progress.share, share), phase=phase), method
        )


@job_kind(
    PROPOSE_JOB,
    title=gettext_lazy("Boxes of a model annotator for further images"),
    expected_errors=(OSError, ValueError),
)
def propose_boxes_job(progress: JobProgress, *, model_annotator: str) -> dict[str, Any]:
    """Store the model annotator's boxes for images that lack them; a restarted job continues with the
    remaining ones."""
    if progress.campaign is None:
        raise JobError("this job is of a campaign, and none was given")
    return propose_boxes(
        campaign=progress.campaign.name, model_annotator=model_annotator, report_progress=Phases(progress)
    ).as_dict()
