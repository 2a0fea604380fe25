"""Machines of a campaign: taught; proposers that they begin from: trained."""

from django.utils.translation import gettext_lazy as _

from annotation.campaigns.machines import TRAIN_JOB
from annotation.common.operations import CommandLine, FormPage, Has, Rest, register
from annotation.common.roles import RESEARCHER
from evaluation.services.machines import lessons, stored_proposers

register(
    name=TRAIN_JOB,
    title=_("Teach a machine"),
    request=lessons.TeachMachineRequest,
    result=lessons.Taught,
    permission=Has((RESEARCHER,), on="campaign"),
    run=lessons.teach,
    before_job=lessons.check_machine_free,
    errors=(OSError, ValueError),
    as_job=True,
    rest=Rest("POST", "campaigns/<slug:campaign>/machines/<slug:machine>/teach", "machines", example={}),
    command=CommandLine(text=lessons.taught_text),
    page=FormPage(started=_("The machine is being taught.")),
)
register(
    title=_("Train a proposer"),
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=stored_proposers.train_proposer,
    errors=(OSError, ValueError),
    command=CommandLine(positional=("name",), text=stored_proposers.trained_proposer_text),
)
