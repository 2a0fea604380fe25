"""Studies on crowd platforms."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, FormPage, Has, Rest, register
from annotation.common.roles import RESEARCHER
from annotation.workers.requests import studies

_ON_CAMPAIGN = Has((RESEARCHER,), on="campaign")
_PATH = "campaigns/<slug:campaign>/studies"
_TAG = "preparing"

register(
    title=_("List studies"),
    result=studies.CampaignStudy,
    permission=_ON_CAMPAIGN,
    run=studies.list_studies,
    rest=Rest("GET", _PATH, _TAG, route="studies"),
)
register(
    name="save_study",
    title=_("Set up a study"),
    permission=_ON_CAMPAIGN,
    run=studies.set_up_study,
    rest=Rest(
        "POST",
        _PATH,
        _TAG,
        route="studies",
        creates="campaigns/{campaign}/studies",
        example={"platform": "prolific", "study": "60d9aadeb86739de712faee0", "answers": 20},
    ),
    command=CommandLine(positional=("campaign", "platform")),
    page=FormPage(done=_("Study saved. Give its address to the platform.")),
)
# Ids lead to people: the person who runs commands on the server may read them.
register(
    title=_("List the participants of studies"),
    result=studies.StudyVisit,
    permission=_ON_CAMPAIGN,
    run=studies.list_visits,
    command=CommandLine(positional=("campaign",)),
)
register(
    title=_("Confirm a participant of a study"),
    permission=_ON_CAMPAIGN,
    run=studies.confirm_visit,
    command=CommandLine(positional=("campaign", "submission", "participant")),
)
