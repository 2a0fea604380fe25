"""Confirming that people who come from a crowd platform are the participants that their address names.

Anybody can type an address. So visitors are unconfirmed until the platform says that the submission is
theirs: by its signed link, a webhook, or its API (`prolific_api`). Until then they have a new worker, without
that participant's earlier work, and get neither code nor pay:

    waiting      we can ask the platform, which has not said anything yet
    confirmed    it says so: the worker is the participant's, or becomes one with whom they were before
    refused      it says that the submission is somebody else's, or somebody else proved it; for good
    unverified   we cannot ask: nothing about them is sure, and a code is all that they get

A browser that is signed in as a worker who claims to be that participant continues as the same worker.

Several people may claim one submission without blocking each other: the confirmed one gets it, the others are
refused. Locks: the study, which serialises everything about its submissions, then visits, then images and the
rest (`joining`).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import sleep
from typing import TypeVar

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import F, Q
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.models import Account, Identity, PlatformReport, Study, Visit
from annotation.workers import joining, platform_visits, prolific_api, pseudonyms
from annotation.workers.platform_visits import ENDED, PROLIFIC, VisitError
from annotation.workers.prolific_api import Away, Link, SubmissionReport

_log = logging.getLogger(__name__)

#: How often merging is tried while somebody is working, and the seconds between tries, which increase.
TRIES, PAUSE = 12, 0.03
#: How long the API is queried about a visit; the intervals between queries, first and later; the number of
#: visits per run; and the seconds after which a person's page triggers a query at once.
ASKING_PERIOD, YOUNG = timedelta(days=7), timedelta(days=1)
_SOON, LATER = timedelta(seconds=50), timedelta(hours=1)
MOST_REQUESTS = 20
_AT_ONCE = timedelta(seconds=8)
#: How long reports are kept: no submission lasts longer than a day.
_REPORT_LIFETIME = timedelta(days=3)

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Arrival:
    """A visitor of a study with a submission, who claims to be `participant`.

    `account` is signed in in their browser through such an address, `link` is what their link proves; with
    `spoilt` it carries an invalid signature.
    """

    study: Study
    participant: str
    submission: str
    account: Account | None = None
    link: Link | None = None
    spoilt: bool = False

    def is_at(self, visit: Visit) -> bool:
        """Whether their browser is signed in for that visit's worker already."""
        return self.account is not None and visit.identity.account_id == self.account.pk


def ways_to_confirm(provider: str) -> list[str]:
    """Return how a platform can confirm visitors in this server's configuration; empty where it cannot."""
    if provider != PROLIFIC:
        return []
    ways = [
        (Visit.LINK, settings.PROLIFIC_SIGNED_LINKS),
        (Visit.WEBHOOK, settings.PROLIFIC_WEBHOOK_SECRET),
        (Visit.API, settings.PROLIFIC_API_TOKEN),
    ]
    return [way for way, is_set in ways if is_set]


def is_new(arrival: Arrival) -> bool:
    """Whether nobody has come with these ids yet."""
    visits = Visit.objects.filter(study=arrival.study, external_id=arrival.submission)
    return not visits.filter(participant=arrival.participant).exists()


def arrive(arrival: Arrival) -> Visit:
    """Return the visit of an arrival, created for the first one. Raises VisitError.

    Refused where the submission is known to be somebody else's, or has ended on the platform, or the account
    may do more than work.
    """
    by, submission = _ask_platform(arrival)
    visit = _again(lambda: _arrived(arrival, by, submission))
    if isinstance(visit, str):
        raise VisitError(visit)
    return visit


def note_submission(
    *, provider: str, report: SubmissionReport, submission: str, at: datetime, by: str = Visit.WEBHOOK
) -> bool:
    """Record a platform's report about a submission; return whether that changed a visit.

    Known and older reports change nothing. If the submission has ended, the worker's leases are returned,
    unless the worker has another visit.
    """
    return _again(lambda: _heard(provider, report, submission, at, by))


def ask_platform(visit: Visit) -> None:
    """Query the platform's API about a waiting visit now, unless that was done a moment ago."""
    before = database.now() - _AT_ONCE
    due = Visit.objects.filter(_to_ask(), pk=visit.pk).filter(Q(asked_at=None) | Q(asked_at__lt=before))
    if settings.PROLIFIC_API_TOKEN and due.update(asked_at=database.now()):
        try:
            _ask(visit)
        except Away as why:
            _log.warning("%s", why)


def ask_waiting() -> None:
    """Query the API about waiting visits. If it is unavailable, the rest waits for the next run."""
    if not settings.PROLIFIC_API_TOKEN:
        return
    now = database.now()
    due = (
        Q(asked_at=None) | Q(begun_at__gt=now - YOUNG, asked_at__lt=now - _SOON) | Q(asked_at__lt=now - LATER)
    )
    waiting = Visit.objects.filter(_to_ask(), due, begun_at__gt=now - ASKING_PERIOD)
    for visit in waiting.select_related("study").order_by(F("asked_at").asc(nulls_first=True))[
        :MOST_REQUESTS
    ]:
        Visit.objects.filter(pk=visit.pk).update(asked_at=now)
        try:
            _ask(visit)
        except Away as why:
            _log.warning("%s", why)
            return


def confirm_by_hand(*, study: Study, submission: str, participant: str, actor: Account | None = None) -> bool:
    """Record that a researcher saw on the platform that a submission is of `participant`; return whether a
    visit changed. Other claims to it, in any study, are refused. Raises VisitError."""
    claims = Visit.objects.filter(study=study, external_id=submission, participant=participant)
    visit = claims.values_list("pk", flat=True).first()
    if visit is None:
        raise VisitError(
            _("There is no visit with submission “%(submission)s” of participant “%(participant)s”.")
            % {"submission": submission, "participant": participant}
        )
    report = SubmissionReport(participant, (), "")

    def confirmed() -> bool:
        known = claims.filter(verification=Visit.CONFIRMED)
        before = known.exists()
        changed = _heard(study.provider, report, submission, database.now(), Visit.HAND, study=study)
        if not before and known.exists():
            # By its number: the platform's ids would remain after the person is erased.
            record(actor=actor, act="confirm_visit", campaign=study.campaign, visit=visit)
        return changed

    return _again(confirmed)


def prune_platform_reports() -> None:
    """Delete old reports of platforms."""
    with database.writing():
        PlatformReport.objects.filter(at__lt=database.now() - _REPORT_LIFETIME).delete()


# What the platform says --------------------------------------------------------------------------


def _to_ask() -> Q:
    return Q(study__provider=PROLIFIC, verification=Visit.WAITING)


def _ask(visit: Visit) -> None:
    report = prolific_api.submission(visit.external_id)
    # An unknown participant may appear later, and an untaken place belongs to nobody.
    if report is not None and report.participant:
        note_submission(
            provider=PROLIFIC, report=report, submission=visit.external_id, at=database.now(), by=Visit.API
        )


def _ask_platform(arrival: Arrival) -> tuple[str, SubmissionReport | None]:
    """Return how the platform confirms a submission (signed link, earlier report, API), and its report."""
    provider = arrival.study.provider
    before = PlatformReport.objects.filter(provider=provider, submission=arrival.submission).first()
    if (link := arrival.link) is not None:
        same = before is not None and before.participant == link.participant
        return Visit.LINK, SubmissionReport(
            link.participant, (link.study,), before.status if before and same else ""
        )
    if before is not None:
        return Visit.WEBHOOK, SubmissionReport(before.participant, (), before.status, before.at)
    if provider == PROLIFIC and settings.PROLIFIC_API_TOKEN and _unsettled(arrival):
        try:
            report = prolific_api.submission(arrival.submission)
        except Away as why:
            _log.warning("%s", why)
        else:
            return Visit.API, report if report is not None and report.participant else None
    return "", None


def _unsettled(arrival: Arrival) -> bool:
    settled = Visit.objects.filter(study=arrival.study, external_id=arrival.submission)
    return not settled.filter(verification=Visit.CONFIRMED).exists()


def _matches(report: SubmissionReport, participant: str, study: Study) -> bool:
    return report.participant == participant and (not report.studies or study.external_id in report.studies)


def _again(act: Callable[[], _T]) -> _T:
    """Run a function that may merge workers in a transaction, again if somebody worked meanwhile."""
    for left in reversed(range(TRIES)):
        try:
            with database.writing():
                return act()
        except (joining.ProvisionalWorkerMoved, DatabaseError):
            # Inside another transaction a retry is impossible.
            if not left or connection.in_atomic_block:
                raise
            sleep(PAUSE * (TRIES - left))
    raise AssertionError("it was tried at least once")


# Coming ------------------------------------------------------------------------------------------


def _somebody_elses() -> str:
    return _("This submission is somebody else's. Open the study again on your platform.")


def _arrived(arrival: Arrival, by: str, report: SubmissionReport | None) -> Visit | str:
    """Return the visit, or why there is none."""
    provider = arrival.study.provider
    rows = _locked(provider, arrival.submission, arrival.study)
    study = Study.objects.select_related("campaign").get(pk=arrival.study.pk)
    claims = [row for row in rows if row.participant == arrival.participant and row.study_id == study.pk]
    confirmed = next((row for row in rows if row.verification == Visit.CONFIRMED), None)
    must_sign = provider == PROLIFIC and (arrival.spoilt or settings.PROLIFIC_SIGNED_LINKS)
    if must_sign and arrival.link is None and not any(map(arrival.is_at, claims)):
        return _unsigned()
    if report is not None and not _matches(report, arrival.participant, study):
        for row in claims:
            if row.verification in Visit.OPEN:
                _refuse(row, by)
        return _somebody_elses()
    if report is not None and report.status in ENDED:
        return _ended()
    if confirmed is None:
        if any(row.verification == Visit.REFUSED for row in claims) and arrival.link is None:
            return _somebody_elses()
        return _unconfirmed(arrival, study, claims, by, report)
    if confirmed.participant != arrival.participant or confirmed.study_id != study.pk:
        return _somebody_elses()
    if confirmed.verified_by == Visit.LINK and not arrival.is_at(confirmed):
        if arrival.link is None:
            return _unsigned()
        if arrival.link.digest in confirmed.links:
            return _("This link has already been used. Open the study again on your platform.")
    if confirmed.reported in ENDED:
        return _ended()
    if why := _shut_out(confirmed.identity.account):
        return why
    _used(confirmed, arrival.link)
    return confirmed


def _unsigned() -> str:
    return _(
        "Prolific has not signed this link for you, or the signature has expired. Open the study again on "
        "Prolific."
    )


def _ended() -> str:
    return _("Your platform says that this submission was returned or has ended.")


def _unconfirmed(
    arrival: Arrival, study: Study, claims: list[Visit], by: str, report: SubmissionReport | None
) -> Visit | str:
    """Return the visit for an unconfirmed submission; it belongs to the visitor with that `report`."""
    claim = next((row for row in claims if row.verification in Visit.OPEN), None)
    if claim is not None and claim.reported in ENDED:
        return _ended()
    stranger = None
    if arrival.link is not None and claim is not None and not arrival.is_at(claim):
        # A visitor without a signed link may be anybody.
        stranger, claim = claim, None
    known = _known(study.provider, arrival.participant)
    if known is not None and report is not None and (why := _shut_out(known.account)):
        return why
    if stranger is not None:
        _refuse(stranger, by)
    if claim is None:
        identity = _identity_for(arrival, study, known if report is not None else None)
        if why := _shut_out(identity.account):
            return why
        claim = _begun(arrival, study, identity)
    if report is not None:
        _confirm(claim, by)
        claim.refresh_from_db()
        if claim.verification == Visit.REFUSED:
            return _somebody_elses()
        if report.status:
            _note(claim, report.status, report.at or database.now())
    _used(claim, arrival.link)
    return Visit.objects.select_related("identity__account", "study__campaign").get(pk=claim.pk)


def _shut_out(account: Account | None) -> str:
    """Return why nobody may use an account through an address; "" if they may."""
    if account is not None and account.is_active and not account.has_staff_role:
        return ""
    return _("This account cannot sign in through a platform. Sign in with its password instead.")


def _known(provider: str, participant: str) -> Identity | None:
    """Return whom the platform confirmed as `participant`, or who came as such before confirmation."""
    identity = Identity.objects.select_related("account", "worker")
    return identity.filter(provider=provider, external_id=participant).first()


def _identity_for(arrival: Arrival, study: Study, confirmed: Identity | None) -> Identity:
    """Return the identity of a visitor: the confirmed one, the one in this browser, or a new one."""
    if confirmed is not None:
        return confirmed
    identity = (
        Identity.objects.filter(account=arrival.account).first() if arrival.account is not None else None
    )
    if identity is not None and _is_claimed(identity, study.provider, arrival.participant):
        return identity
    account = pseudonyms.create_annotator(campaign=study.campaign, provider=study.provider)
    return Identity.objects.select_related("account", "worker").get(account=account)


def _is_claimed(identity: Identity, provider: str, participant: str) -> bool:
    """Whether somebody who claims to be that `participant` works already."""
    if identity.provider != provider:
        return False
    if identity.external_id:
        return identity.external_id == participant
    claims = identity.visits.filter(participant=participant)
    return claims.exclude(verification=Visit.REFUSED).exists()


def _begun(arrival: Arrival, study: Study, identity: Identity) -> Visit:
    assert identity.account is not None
    # Only once: if the role was revoked, it stays revoked.
    if not Visit.objects.filter(identity=identity, study__campaign=study.campaign_id).exists():
        pseudonyms.may_work_on(account=identity.account, campaign=study.campaign)
    return Visit.objects.create(
        identity=identity,
        study=study,
        external_id=arrival.submission,
        participant=arrival.participant,
        begun_at=database.now(),
        verification=Visit.WAITING if ways_to_confirm(study.provider) else Visit.UNVERIFIED,
    )


def _used(visit: Visit, link: Link | None) -> None:
    if link is not None and link.digest not in visit.links:
        visit.links = [*visit.links, link.digest]
        visit.save(update_fields=["links"])


# Confirming and refusing -------------------------------------------------------------------------


def _heard(
    provider: str,
    report: SubmissionReport,
    submission: str,
    at: datetime,
    by: str,
    *,
    study: Study | None = None,
) -> bool:
    """`study` is the known study of the submission; without it the `report` says which."""
    if by == Visit.WEBHOOK:
        _store_report(provider, report, submission, at)
    rows = _locked(provider, submission)
    theirs = [
        row
        for row in rows
        if _matches(report, row.participant, row.study) and (study is None or row.study_id == study.pk)
    ]
    changed = False
    for row in rows:
        row.refresh_from_db(fields=["verification", "identity"])  # the previous visit may have changed it
        if row.verification in Visit.OPEN:
            changed = True
            if row in theirs:
                _confirm(row, by)
                row.refresh_from_db()
            else:
                _refuse(row, by)
        if row in theirs and row.verification == Visit.CONFIRMED and report.status:
            changed |= _note(row, report.status, at)
    return changed


def _locked(provider: str, submission: str, study: Study | None = None) -> list[Visit]:
    """Return all claims to a submission, locked with their studies, and with `study`; in order of arrival."""
    visits = Visit.objects.filter(study__provider=provider, external_id=submission)
    concerned = Q(pk__in=visits.values("study")) | Q(pk=study.pk if study is not None else 0)
    list(Study.objects.select_for_update(no_key=True).filter(concerned).order_by("pk"))
    rows = visits.select_related("identity__account", "study__campaign").order_by("pk")
    return list(rows.select_for_update(of=("self",)))


def _store_report(provider: str, report: SubmissionReport, submission: str, at: datetime) -> None:
    """Store a platform's report, for a visit that arrives later with that submission."""
    named = {"participant": report.participant, "status": report.status, "at": at}
    row, created = PlatformReport.objects.select_for_update().get_or_create(
        provider=provider, submission=submission, defaults=named
    )
    if not created and at >= row.at:
        PlatformReport.objects.filter(pk=row.pk).update(**named)


def _note(visit: Visit, status: str, at: datetime) -> bool:
    """Record a submission's status; if it has ended, leases are returned. False: nothing new."""
    if visit.reported == status or (visit.reported_at is not None and at < visit.reported_at):
        return False
    visit.reported, visit.reported_at = status, at
    visit.save(update_fields=["reported", "reported_at"])
    if status in ENDED and not platform_visits.has_other_visit(visit):
        platform_visits.release(visit)
    return True


def _confirm(visit: Visit, by: str) -> None:
    """The platform says that a visit belongs to the visitor, who is that participant from now on."""
    same = Visit.objects.filter(study__provider=visit.study.provider, external_id=visit.external_id)
    same = same.exclude(pk=visit.pk).select_related("identity__account", "study__campaign")
    known = _known(visit.study.provider, visit.participant)
    identity = visit.identity
    if same.filter(verification=Visit.CONFIRMED).exists():
        # In this study or another one: a submission belongs to one study.
        _refuse(visit, by)
        return
    if identity.external_id not in ("", visit.participant):
        # They are a different person.
        _refuse(visit, by)
        return
    if known is not None and known.pk != identity.pk:
        if _shut_out(known.account):
            _refuse(visit, by)
            return
        joining.merge_workers(provisional=identity, known=known, by_platform=by != Visit.HAND)
    elif known is None:
        identity.external_id = visit.participant
        identity.save(update_fields=["external_id"])
    about = {"verification": Visit.CONFIRMED, "verified_by": by, "verified_at": database.now()}
    Visit.objects.filter(pk=visit.pk).update(**about)
    for open_visit in list(same.filter(verification__in=Visit.OPEN)):
        _refuse(open_visit, by)


def _refuse(visit: Visit, by: str) -> None:
    """The visit does not belong to the visitor, finally. Without another visit they are signed out."""
    visit.verification, visit.verified_by, visit.verified_at = Visit.REFUSED, by, database.now()
    visit.save(update_fields=["verification", "verified_by", "verified_at"])
    if platform_visits.has_other_visit(visit):
        return
    platform_visits.release(visit)
    identity = visit.identity
    if identity.external_id or identity.visits.exclude(verification=Visit.REFUSED).exists():
        return
    Account.objects.filter(identity=identity).update(is_active=False)
