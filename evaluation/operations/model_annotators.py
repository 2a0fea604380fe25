"""Model annotators of a campaign: taught; proposers that they begin from: trained."""

from django.utils.translation import gettext_lazy as _

from annotation.campaigns import CampaignError
from annotation.campaigns.model_annotators import TRAIN_JOB
from annotation.common.locks import Busy
from annotation.common.operations import CommandLine, FormPage, Has, Rest, register
from annotation.common.roles import RESEARCHER
from evaluation.services.model_annotators import lessons, stored_proposers
from phrasebox.registry import UnknownName

register(
    name=TRAIN_JOB,
    title=_("Train a model annotator"),
    request=lessons.TrainModelAnnotatorRequest,
    result=lessons.Taught,
    permission=Has((RESEARCHER,), on="campaign"),
    run=lessons.teach,
    before_job=lessons.check_model_annotator_free,
    errors=(CampaignError, OSError, ValueError),
    as_job=True,
    rest=Rest(
        "POST",
        "campaigns/<slug:campaign>/model-annotators/<slug:model_annotator>/train",
        "model_annotators",
        example={},
    ),
    command=CommandLine(positional=("campaign", "model_annotator"), text=lessons.taught_text),
    page=FormPage(started=_("The model annotator is being trained.")),
)
register(
    title=_("Train a proposer"),
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=stored_proposers.train_proposer,
    errors=(Busy, UnknownName, OSError, ValueError),
    command=CommandLine(positional=("name",), text=stored_proposers.trained_proposer_text),
)
