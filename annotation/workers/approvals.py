"""Lists with which a researcher approves and pays people on a crowd platform, by its ids.

The ids identify people, so each list is recorded in the audit log.
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated

from django.db.models import Count, OuterRef, Subquery
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import Help, NewFile, OneOf, OperationContext
from annotation.models import Account, Assignment, Campaign, Study, Visit
from annotation.protocol.money import amount_text, smallest_amount
from annotation.selectors.campaign.cost import TEST_ROLE
from annotation.selectors.corpora import CampaignRequest
from annotation.workers.payments import currency_of, due_accounts
from annotation.workers.platform_visits import ENDED, MTURK, PROLIFIC, PROVIDERS, PlatformName
from phrasebox.errors import PhraseboxError
from phrasebox.spreadsheets import escape_formula

#: The kinds of lists for a platform: submissions to approve, or people who get a bonus.
SUBMISSIONS, BONUSES = "submissions", "bonuses"
LISTS = {
    SUBMISSIONS: gettext_lazy("Submissions to approve"),
    BONUSES: gettext_lazy("What is due, as bonuses"),
}
ListName = Annotated[str, OneOf(lambda: LISTS)]
#: Number of visits read at once.
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Submission:
    """A visit that can be approved on its platform: its ids there, our pseudonym, and the additional amount
    due to the worker, in millionths of the currency. `answers` were given since it began."""

    submission: str
    participant: str
    worker: str
    study: str
    answers: int
    reported: str
    due: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformListRequest(CampaignRequest):
    """A crowd platform's ids of submissions to approve, or of people with their amounts due, in the format of
    its pages. The ids identify people, so the audit log records each list."""

    platform: Annotated[PlatformName, Help(gettext_lazy("Platform"))]
    list: Annotated[ListName, Help(gettext_lazy("List"))]


def export_platform_list(request: PlatformListRequest, context: OperationContext) -> NewFile:
    """Return the list as CSV. Writing it raises PhraseboxError if the campaign has no study there."""
    campaign = request.row()

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            write_approvals(
                campaign=campaign,
                provider=request.platform,
                what=request.list,
                file=file,
                actor=context.actor,
            )

    return NewFile(f"{campaign.name}-{request.platform}-{request.list}.csv", write)


def platforms_of(campaign: Campaign) -> list[str]:
    """Return the platforms on which a campaign is offered."""
    providers = set(Study.objects.filter(campaign=campaign).values_list("provider", flat=True))
    return [name for name in PROVIDERS if name in providers]


def submissions_to_approve(*, campaign: Campaign, provider: str) -> list[Submission]:
    """Return completed visits whose people are confirmed or cannot be, unless ended, by arrival.

    Raises PhraseboxError if the campaign has no study there.
    """
    if provider not in platforms_of(campaign):
        raise PhraseboxError(
            _("Campaign “%(name)s” has no study on this platform.") % {"name": campaign.name}
        )
    due = {account.worker: account.due for account in due_accounts(campaign=campaign) if not account.held}
    counted = (
        Assignment.objects.filter(
            campaign=OuterRef("study__campaign"),
            worker=OuterRef("identity__worker"),
            state=Assignment.SUBMITTED,
            ended_at__gte=OuterRef("begun_at"),
        )
        .exclude(role=TEST_ROLE)
        .order_by()
        .values("worker")
        .annotate(n=Count("pk"))
        .values("n")
    )
    rows = (
        Visit.objects.filter(study__campaign=campaign, study__provider=provider, outcome=Visit.COMPLETE)
        .filter(verification__in=(Visit.CONFIRMED, Visit.UNVERIFIED))
        .exclude(reported__in=ENDED)
        .select_related("study", "identity__worker")
        .annotate(answers=Subquery(counted))
        .order_by("pk")
    )
    return [
        Submission(
            submission=row.external_id,
            participant=row.identity.external_id or row.participant,
            worker=row.identity.worker.pseudonym,
            study=row.study.external_id,
            answers=row.answers or 0,
            reported=row.reported,
            due=due.get(row.identity.worker_id, 0),
        )
        for row in rows.iterator(_PAGE)
    ]


def write_approvals(
    *, campaign: Campaign, provider: str, what: str, file: IO[str], actor: Account | None = None
) -> int:
    """Write the list in the format of the platform's own page, and record in the audit log that these ids
    were handed out; return the number of lines without headers.

    For `SUBMISSIONS`, Prolific takes one id per line; for `BONUSES`, "participant,amount". MTurk takes tables
    with headers: assignments to approve, and for each worker the fields of `SendBonus`. Amounts are what is
    due, truncated to the digits of the currency; smaller amounts have no line.
    """
    submissions = submissions_to_approve(campaign=campaign, provider=provider)
    reason = _("Work on %(campaign)s") % {"campaign": campaign.name}
    lines: list[list[str]]
    currency = currency_of(campaign)
    if what == SUBMISSIONS:
        lines = [[row.submission] for row in submissions]
        head = ["AssignmentId"]
    else:
        lines = [
            [last.participant, amount_text(due, currency)]
            if provider == PROLIFIC
            else [last.participant, last.submission, amount_text(due, currency), reason]
            for last, due in _owed_to_people(submissions, smallest_amount(currency))
            if due
        ]
        head = ["WorkerId", "AssignmentId", "BonusAmount", "Reason"]
    writer = csv.writer(file, lineterminator="\n")
    if provider == MTURK:
        writer.writerow(head)
    writer.writerows([*map(escape_formula, line)] for line in lines)
    with database.writing():
        record(
            actor=actor,
            act="download_identities",
            campaign=campaign,
            platform=provider,
            list=what,
            number=len(lines),
        )
    return len(lines)


def _owed_to_people(submissions: list[Submission], smallest: int) -> list[tuple[Submission, int]]:
    """Return each person's last submission, and the amount due to all of their workers here in millionths,
    truncated to `smallest`: a person who uses another browser may be another worker."""
    people: dict[str, dict[str, Submission]] = {}
    for row in submissions:
        workers = people.setdefault(row.participant, {})
        # Removed first, so that the last submission is appended.
        workers.pop(row.worker, None)
        workers[row.worker] = row
    return [
        (
            list(workers.values())[-1],
            sum(row.due - row.due % smallest for row in workers.values() if row.due > 0),
        )
        for workers in people.values()
    ]
