"""Operations on studies on crowd platforms: set up, list, list visits, and confirm visitors."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.addresses import full_address
from annotation.common.operations import Help, Listing, OperationContext, invalid, result_of
from annotation.models import Study, Visit
from annotation.selectors.corpora import CampaignRequest
from annotation.workers import confirmation, platform_visits
from annotation.workers.accounts.country import CountryName
from annotation.workers.platform_visits import MOST_ANSWERS_REQUIRED, PROLIFIC, PlatformName

#: The placeholders that Prolific fills in.
_PARAMETERS = "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
Code = Annotated[str, Field(max_length=50)]
PlatformId = Annotated[str, Field(max_length=200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiesRequest(CampaignRequest):
    """A campaign's studies on crowd platforms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveStudyRequest(CampaignRequest):
    """A campaign on a crowd platform; the same study again is changed."""

    platform: Annotated[PlatformName, Help(_("Platform"))]
    study: Annotated[
        str, Field(max_length=100), Help(_("Id of the study"), _("Prolific's; other platforms give none"))
    ] = ""
    answers: Annotated[
        int, Field(ge=1, le=MOST_ANSWERS_REQUIRED), Help(_("Answers needed from each participant"))
    ] = 20
    completion_code: Annotated[Code, Help(_("Code for complete"))] = ""
    screen_out_code: Annotated[Code, Help(_("Code for screened out"))] = ""
    country: Annotated[
        CountryName | None,
        Help(
            _("Country"), _("If the platform sends only people from there, by a screener or a qualification")
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitsRequest(CampaignRequest):
    """Each submission by the platform's own id, with the number of answers, its end, and whether the platform
    confirms the participant: what is needed to approve them there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmVisitRequest(CampaignRequest):
    """A researcher checked on the platform that the submission is of that participant."""

    submission: Annotated[PlatformId, Help(_("Submission"), _("Its id on the platform"))]
    participant: Annotated[PlatformId, Help(_("Participant"), _("Their id on the platform"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignStudy:
    """A campaign's study on a crowd platform. `address` is the URL for the platform; `confirms`: how it
    confirms visitors; `came`: the number of visitors."""

    campaign: str
    platform: str
    study: str
    answers: int
    completion_code: str
    screen_out_code: str
    country: str
    address: str
    confirms: tuple[str, ...]
    came: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyVisit:
    """A submission on a platform, and its worker here."""

    submission: str
    study: str
    participant: str
    worker: str
    verification: str
    verified_by: str
    begun_at: datetime
    answered: int
    outcome: str
    reported: str


def list_studies(request: StudiesRequest, context: OperationContext) -> Listing:
    """Return the studies of a campaign."""
    rows = Study.objects.filter(campaign=request.row()).select_related("campaign")
    return Listing(rows, "pk", _campaign_study)


def set_up_study(request: SaveStudyRequest, context: OperationContext) -> CampaignStudy:
    """Create a study, or change one. Raises VisitError."""
    row = platform_visits.save_study(
        campaign=request.row(),
        provider=request.platform,
        external_id=request.study.strip(),
        answers_required=request.answers,
        completion_code=request.completion_code.strip(),
        screen_out_code=request.screen_out_code.strip(),
        country=request.country or "",
        actor=context.actor,
    )
    return _campaign_study(row)


def list_visits(request: VisitsRequest, context: OperationContext) -> Listing:
    """Return the visitors of a campaign's studies."""
    rows = Visit.objects.filter(study__campaign=request.row())
    return Listing(rows.select_related("study", "identity__worker"), "pk", study_visit)


def confirm_visit(request: ConfirmVisitRequest, context: OperationContext) -> StudyVisit:
    """Confirm a visitor. Raises VisitError, and Invalid if there is no such visit."""
    claims = Visit.objects.filter(
        study__campaign=request.row(),
        external_id=request.submission,
        participant=request.participant,
    )
    study = Study.objects.filter(visits__in=claims).first()
    if study is None:
        raise invalid("submission", "unknown", kind=_("submission"), value=request.submission)
    confirmation.confirm_by_hand(study=study, submission=request.submission, participant=request.participant)
    return study_visit(claims.select_related("study", "identity__worker").get())


def study_address(row: Study) -> str:
    """Return the URL for a study's platform."""
    address = full_address(row.provider, [row.campaign.name])
    return address + _PARAMETERS if row.provider == PROLIFIC else address


def _campaign_study(row: Study) -> CampaignStudy:
    return CampaignStudy(
        campaign=row.campaign.name,
        platform=row.provider,
        study=row.external_id,
        answers=row.answers_required,
        completion_code=row.completion_code,
        screen_out_code=row.screen_out_code,
        country=row.country,
        address=study_address(row),
        confirms=tuple(confirmation.ways_to_confirm(row.provider)),
        came=row.visits.count(),
        created_at=row.created_at,
    )


def study_visit(row: Visit) -> StudyVisit:
    """Return what is known about a submission."""
    return result_of(
        StudyVisit,
        row,
        submission=row.external_id,
        study=row.study.external_id or row.study.provider,
        worker=row.identity.worker.pseudonym,
        answered=platform_visits.answers_of_visit(row),
    )
