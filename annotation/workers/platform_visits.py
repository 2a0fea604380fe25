"""Visits from crowd platforms: people come to work on a study, and return with a code.

A visit is one submission of the platform. Answers submitted since it began count towards it, except those of
tests. It ends in one of three ways:

    complete      the study's answers are given, or some were and there is nothing left
    screened out  a test was failed or the worker suspended, or there was nothing from the beginning
    reported      the platform says that the submission was returned, timed out or rejected

The last one returns the worker's leases; the first two give a code, if the platform has confirmed the person
or cannot be asked (`confirmation`, which begins visits).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import OneOf
from annotation.models import Account, Assignment, Campaign, Study, Visit
from annotation.quality.qualification import QUALIFICATION_ROLE as TEST
from annotation.queue import leases
from annotation.queue.available_tasks import AvailableTask, available_tasks, no_consent
from annotation.queue.lease_terms import NO_COUNTRY, OTHER_COUNTRY
from annotation.workers import sessions
from phrasebox.errors import PhraseboxError

PROLIFIC, MTURK = "prolific", "mturk"
PROVIDERS = {PROLIFIC: "Prolific", MTURK: "Mechanical Turk"}
PlatformName = Annotated[str, OneOf(lambda: PROVIDERS)]
#: Platforms that identify their studies.
NAMING = (PROLIFIC,)
ENDED = Visit.OVER
#: The state of a visit: there is work; or it may end, since the answers are given, after a failed test or a
#: suspension, or because there was no work from the beginning.
WORKING, DONE, SCREENED_OUT, NOTHING = "working", "done", "out", "nothing"
#: Reasons for which a worker is excluded from a kind, and those that are nobody's fault.
_BARRED = (
    *("suspended", "blocked", "too_few_tasks", "too_few_approved", "test_failed", "too_many_tests"),
    OTHER_COUNTRY,
)
_NO_WORK = ("none_open", "all_judged", "busy", "unjudged", "check_first", "paused", "closed")
MOST_ANSWERS_REQUIRED = 10_000


class VisitError(PhraseboxError):
    """An invalid study or visit; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class VisitProgress:
    """The progress of a visit. `again`: a failed test may be repeated instead of ending the visit."""

    visit: Visit
    answered: int
    state: str
    again: bool = False

    @property
    def answers_required(self) -> int:
        """The number of answers that the study requests of a visitor."""
        return self.visit.study.answers_required

    @property
    def may_end(self) -> bool:
        """Whether nothing is left to do but return to the platform."""
        return self.state != WORKING and not self.again

    @property
    def code(self) -> str:
        """The code for the platform; "" while there is work, while the platform could confirm the person but
        has not, and where the study has no such code."""
        study = self.visit.study
        if not self.visit.counts:
            return ""
        return {WORKING: "", DONE: study.completion_code}.get(self.state, study.screen_out_code)


def save_study(
    *,
    campaign: Campaign,
    provider: str,
    external_id: str = "",
    answers_required: int,
    completion_code: str = "",
    screen_out_code: str = "",
    country: str = "",
    actor: Account | None = None,
) -> Study:
    """Create a campaign's study on a platform, or change an existing one. Raises VisitError."""
    if provider not in PROVIDERS:
        raise VisitError(
            _("There is no platform “%(name)s”; known: %(known)s.")
            % {"name": provider, "known": ", ".join(PROVIDERS)}
        )
    if bool(external_id) != (provider in NAMING):
        raise VisitError(
            _("A study on Prolific needs its id: copy it from the study's address there.")
            if provider in NAMING
            else _("A study on this platform has no id: leave it out.")
        )
    if not 1 <= answers_required <= MOST_ANSWERS_REQUIRED:
        raise VisitError(
            _("One visit cannot ask for %(wanted)d answers; expected 1 to %(most)d.")
            % {"wanted": answers_required, "most": MOST_ANSWERS_REQUIRED}
        )
    if max(map(len, (completion_code, screen_out_code))) > 50 or len(external_id) > 100:
        raise VisitError(_("A code has 50 characters at most, an id 100."))
    with database.writing():
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        studies = Study.objects.filter(provider=provider, external_id=external_id)
        other_study = studies.exclude(campaign=campaign).first() if external_id else None
        if other_study is not None:
            raise VisitError(_("This study already belongs to another campaign."))
        codes = {"completion_code": completion_code, "screen_out_code": screen_out_code, "country": country}
        study, _created = studies.update_or_create(
            campaign=campaign,
            provider=provider,
            external_id=external_id,
            defaults={"answers_required": answers_required, **codes},
            create_defaults={"answers_required": answers_required, "created_by": actor, **codes},
        )
        record(actor=actor, act="save_study", campaign=campaign, provider=provider, study=external_id)
    return study


def study_at(*, provider: str, campaign: Campaign, external_id: str = "") -> Study:
    """Return the study of a visitor. Raises VisitError if it is unknown."""
    study = Study.objects.filter(provider=provider, campaign=campaign, external_id=external_id).first()
    if study is None:
        raise VisitError(_("This study has not been added here yet. Ask its researchers to add it."))
    return study


def current_visit(session: Mapping[str, Any], account: Any) -> Visit | None:
    """Return the visit of a session, if it belongs to the account."""
    number = session.get(sessions.VISIT)
    if number is None:
        return None
    visits = Visit.objects.select_related("identity", "study__campaign")
    return visits.filter(pk=number, identity__account_id=account.pk).first()


def left_of_visit(visit: Visit, *, holding: int = 0) -> int:
    """Return how many answers are still requested, besides the `holding` leases; 0 after its end."""
    if visit.outcome or visit.reported in ENDED or visit.verification == Visit.REFUSED:
        return 0
    return max(0, visit.study.answers_required - answers_of_visit(visit) - holding)


def answers_of_visit(visit: Visit) -> int:
    """Return the number of answers that count towards a visit."""
    done = Assignment.objects.filter(
        campaign=visit.study.campaign_id,
        worker=visit.identity.worker_id,
        state=Assignment.SUBMITTED,
        ended_at__gte=visit.begun_at,
    )
    return done.exclude(role=TEST).count()


def visit_progress(visit: Visit) -> VisitProgress:
    """Return the progress of a visit, and whether it may end."""
    answered = answers_of_visit(visit)
    if visit.outcome:
        return VisitProgress(visit, answered, DONE if visit.outcome == Visit.COMPLETE else SCREENED_OUT)
    if answered >= visit.study.answers_required:
        return VisitProgress(visit, answered, DONE)
    worker, campaign = visit.identity.worker, visit.study.campaign
    if campaign.state == Campaign.OPEN and no_consent(worker=worker.pk, campaign=campaign):
        return VisitProgress(visit, answered, WORKING)
    tasks = [offer for offer in available_tasks(worker=worker) if offer.campaign.pk == campaign.pk]
    codes = {offer.nothing.code for offer in tasks if offer.nothing is not None}
    if any(map(_open, tasks)):
        return VisitProgress(visit, answered, WORKING)
    if answered and (codes & set(_NO_WORK) or not tasks):
        return VisitProgress(visit, answered, DONE)
    if codes & set(_BARRED):
        return VisitProgress(visit, answered, SCREENED_OUT, again=any(offer.wants_test for offer in tasks))
    return VisitProgress(visit, answered, DONE if answered else NOTHING)


def _open(offer: AvailableTask) -> bool:
    """Whether there is anything to do: work, or a test that has not been failed."""
    return offer.nothing is None or offer.test is not None or offer.nothing.code in ("no_test", NO_COUNTRY)


def finish_visit(visit: Visit) -> VisitProgress:
    """End a visit that may end, and return its leases; one that has ended stays unchanged."""
    with database.writing():
        visit_row = Visit.objects.select_for_update(of=("self",)).select_related(
            "identity", "study__campaign"
        )
        row = visit_row.get(pk=visit.pk)
        reached = visit_progress(row)
        if row.outcome:
            return reached
        if reached.state == WORKING:
            raise VisitError(_("There is work left: continue, or return the submission on your platform."))
        if not row.counts:
            raise VisitError(_("Your platform has not confirmed yet that this submission is yours."))
        row.outcome = Visit.COMPLETE if reached.state == DONE else Visit.SCREENED_OUT
        row.ended_at = database.now()
        row.save(update_fields=["outcome", "ended_at"])
        release(row)
    return reached


def has_other_visit(visit: Visit) -> bool:
    """Whether the worker has another active visit to the same campaign."""
    visits = Visit.objects.filter(
        identity=visit.identity_id, study__campaign=visit.study.campaign_id, outcome=""
    )
    visits = visits.exclude(pk=visit.pk).exclude(reported__in=ENDED)
    return visits.exclude(verification=Visit.REFUSED).exists()


def release(visit: Visit) -> None:
    """Return the visitor's leases."""
    worker = visit.identity.worker_id
    held = Assignment.objects.filter(
        worker=worker, campaign=visit.study.campaign_id, state=Assignment.LEASED
    ).values_list("pk", flat=True)
    for assignment in list(held):
        leases.return_lease(worker=worker, assignment=assignment)
