"""Operations that train the model annotators of a campaign, and the proposers from which they start."""

from django.utils.translation import gettext_lazy as _

from annotation.campaigns.model_annotators import TRAIN_JOB
from annotation.common.operations import CommandLine, FormPage, Has, Rest
from annotation.common.roles import RESEARCHER
from evaluation.operations import register
from evaluation.services.model_annotators import stored_proposers, training_requests

register(
    name=TRAIN_JOB,
    title=_("Train a model annotator"),
    request=training_requests.TrainModelAnnotatorRequest,
    result=training_requests.TrainingReport,
    permission=Has((RESEARCHER,), on="campaign"),
    run=training_requests.train,
    before_job=training_requests.check_model_annotator_free,
    as_job=True,
    rest=Rest(
        "POST",
        "campaigns/<slug:campaign>/model-annotators/<slug:model_annotator>/train",
        "model_annotators",
        example={},
    ),
    command=CommandLine(text=training_requests.training_text),
    page=FormPage(started=_("The model annotator is being trained.")),
)
register(
    title=_("Train a proposer"),
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=stored_proposers.train_proposer,
    command=CommandLine(positional=("name",), text=stored_proposers.trained_proposer_text),
)
