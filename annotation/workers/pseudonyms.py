"""Pseudonyms of workers, and erasing a person.

A worker is a pseudonym; only `Identity` says who it is. Erasing deletes account, sessions, identity and the
worker's comments; the answers stay under the pseudonym, which then identifies nobody. On request, the texts
of their answers are deleted too, and the reasons that staff typed about them.

Every erasure is recorded in a file (`common.erasures`): restoring a backup that is older restores the person,
and `erase_again` erases them again.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database, erasures
from annotation.common.erasures import Erasure
from annotation.common.operations import invalid
from annotation.common.roles import ANNOTATOR
from annotation.models import (
    Account,
    AnswerReview,
    Assignment,
    AuditEntry,
    Bonus,
    Campaign,
    CaptionFlag,
    Flag,
    Identity,
    Judgment,
    OpenImage,
    Payout,
    PlatformReport,
    RoleGrant,
    StaffInvitation,
    Study,
    TrustState,
    Visit,
    Worker,
    WorkerMessage,
)
from annotation.protocol.kinds import all_kinds
from annotation.queue import leases
from annotation.selectors.campaign.cost import money
from annotation.workers import payments, sessions
from phrasebox.errors import PhraseboxError

#: The fields with staff's texts about workers, by table.
_REASON_FIELDS: dict[Any, tuple[str, ...]] = {
    AnswerReview: ("reason",),
    Bonus: ("reason", "withdrawn_reason"),
    Payout: ("void_reason",),
    TrustState: ("reason", "withdrawn_reason"),
}
#: The prefix of pseudonyms, which no chosen name may have.
PREFIX = "w-"
#: The letters and digits of pseudonyms, without ones that look alike.
_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
_LENGTH = 10


@dataclass(frozen=True, slots=True)
class Erased:
    """What erasing a worker deleted; `texts` is the number of answers whose texts were deleted, `reasons`
    that of staff's texts about them. `already`: they were erased before, and nothing was left to do."""

    pseudonym: str
    account: bool
    sessions: int
    comments: int
    texts: int = 0
    reasons: int = 0
    already: bool = False


def worker_of(account: Account) -> Worker:
    """Return the worker of an account, created under a new pseudonym on first use."""
    worker = Worker.objects.filter(identity__account=account).first()
    if worker is not None:
        return worker
    with database.writing():
        # The account's row is the lock: two tabs that arrive at once get one worker.
        Account.objects.select_for_update().get(pk=account.pk)
        worker = Worker.objects.filter(identity__account=account).first()
        if worker is None:
            worker = new_worker()
            Identity.objects.create(worker=worker, account=account)
    return worker


def new_worker() -> Worker:
    """Create a worker under a random pseudonym, which is not derived from the person."""
    while True:
        name = PREFIX + draw_pseudonym(_LENGTH)
        try:
            with transaction.atomic():
                return Worker.objects.create(pseudonym=name)
        except IntegrityError:
            continue


def draw_pseudonym(length: int) -> str:
    """Return random letters and digits that cannot be guessed, and are easy to read aloud and type."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def create_annotator(
    *,
    campaign: Campaign,
    provider: str,
    external_id: str = "",
    username: str = "",
    password: str | None = None,
) -> Account:
    """Create an account with the role annotator for `campaign`, under a new pseudonym.

    Defaults: the pseudonym as name, no password. Raises IntegrityError if a name or `external_id` is taken.
    """
    with database.writing():
        worker = new_worker()
        account = Account.objects.create_user(username or worker.pseudonym, password=password)
        RoleGrant.objects.create(account=account, role=ANNOTATOR, campaign=campaign)
        Identity.objects.create(worker=worker, account=account, provider=provider, external_id=external_id)
    return account


def may_work_on(*, account: Account, campaign: Campaign) -> bool:
    """Make `account` an annotator of `campaign`. Returns False if it is one already."""
    return RoleGrant.objects.get_or_create(account=account, role=ANNOTATOR, corpus=None, campaign=campaign)[1]


def worker_called(name: str) -> Worker:
    """Return the worker with that pseudonym, or whose account has that name. Raises Invalid."""
    worker = (
        Worker.objects.filter(pseudonym=name).first()
        or Worker.objects.filter(identity__account__username=name).first()
    )
    if worker is None:
        raise invalid("worker", "unknown", kind=_("worker"), value=name)
    return worker


def erase_worker(
    *,
    worker: Worker,
    actor: Account | None = None,
    by_themselves: bool = False,
    texts: bool = False,
    reasons: bool = False,
) -> Erased:
    """Erase a worker's identity: by `actor`, by a command, or `by_themselves`, which no log entry may name.

    Raises PhraseboxError while payment is due, and for accounts with a staff role. With `texts` the captions
    and descriptions that they wrote are deleted too; the answers stay, without texts. With `reasons` so are
    staff's texts about them: of bonuses, payments, suspensions and withdrawals. Their leases are returned
    first. An answer that arrives meanwhile is stored before, and its pay is then due, or it is not stored at
    all. Repeating it changes nothing.
    """
    if worker.kind == Worker.MODEL:
        raise PhraseboxError(
            _("%(worker)s is a model annotator: nothing is known of it that could be erased")
            % {"worker": worker.pseudonym}
        )
    erasure = Erasure(worker.pseudonym, texts, reasons)
    if worker.erased_at is not None and not _remains(worker, erasure):
        return Erased(worker.pseudonym, False, 0, 0, already=True)
    return _erase(worker, actor, erasure, note=True, by_themselves=by_themselves)


def erase_again(*, actor: Account | None = None) -> list[Erased]:
    """Erase everybody on the list of erasures whom a restored backup brought back.

    Payment that such a backup considers due was paid before they were erased.
    """
    listed: dict[str, Erasure] = {}
    for name, texts, reasons in erasures.all_erasures():
        before = listed.get(name, Erasure(name, False, False))
        listed[name] = Erasure(name, before.texts or texts, before.reasons or reasons)
    workers = Worker.objects.filter(pseudonym__in=listed)
    back = [worker for worker in workers if _remains(worker, listed[worker.pseudonym])]
    return [_erase(worker, actor, listed[worker.pseudonym], note=False) for worker in back]


def has_written(worker: Worker) -> bool:
    """Whether any text is stored that a worker wrote as an answer."""
    return any(map(_texts, _written(worker)))


def has_reasons(worker: Worker) -> bool:
    """Whether any text is stored that staff typed about a worker."""
    return any(rows.exists() for rows, _field in _typed(worker)) or _audited_reasons(worker).exists()


def _typed(worker: Worker) -> Iterator[tuple[QuerySet[Any], str]]:
    """Yield the rows with staff's texts about a worker, and the field that holds them."""
    for model, fields in _REASON_FIELDS.items():
        for field in fields:
            of = "judgment__worker" if model is AnswerReview else "worker"
            rows: QuerySet[Any] = model.objects.filter(**{of: worker})
            yield rows.exclude(**{f"{field}__in": ("", AuditEntry.ERASED_REASON)}), field


def _audited_reasons(worker: Worker) -> QuerySet[AuditEntry]:
    lines = AuditEntry.objects.filter(about__worker=worker.pseudonym, about__has_key="reason")
    return lines.exclude(about__reason__in=("", AuditEntry.ERASED_REASON))


def _erase_reasons(worker: Worker) -> int:
    """Delete staff's texts about a worker from their rows, and from the audit log; return their number."""
    erased = sum(rows.update(**{field: AuditEntry.ERASED_REASON}) for rows, field in _typed(worker))
    for line in _audited_reasons(worker):
        line.about["reason"] = AuditEntry.ERASED_REASON
        line.save(update_fields=["about"])
    return erased


def _written(worker: Worker) -> QuerySet[Judgment]:
    return Judgment.objects.filter(
        worker=worker, kind__in=[kind.key for kind in all_kinds() if kind.writes], content__isnull=False
    )


def _texts(judgment: Judgment) -> list[dict[str, Any]]:
    """Return the parts of an answer with the worker's own text: a caption, the described regions."""
    content = judgment.content or {}
    return [part for part in (content, *content.get("regions", ())) if part.get("text")]


def _erase_texts(worker: Worker) -> int:
    """Delete the texts in a worker's answers; return the number of answers."""
    emptied = []
    for judgment in _written(worker):
        parts = _texts(judgment)
        for part in parts:
            part["text"] = ""
        if parts:
            emptied.append(judgment)
    CaptionFlag.objects.filter(judgment__worker=worker).delete()
    AnswerReview.objects.filter(judgment__worker=worker).update(text="")
    return Judgment.objects.bulk_update(emptied, ["content"], batch_size=500)


def _erase(
    worker: Worker,
    actor: Account | None,
    erasure: Erasure,
    *,
    note: bool,
    by_themselves: bool = False,
) -> Erased:
    with database.writing():
        identity, account = _locked_alone(worker)
        if note:
            _refuse_where_owed(worker)
            _refuse_staff(worker, account)
        names = [worker.pseudonym, *_forget_visits(identity)]
        ended = sessions.end_access(account) if account is not None else sessions.EndedAccess(0, 0)
        comments = Flag.objects.filter(judgment__worker=worker).exclude(comment="").update(comment="")
        WorkerMessage.objects.filter(worker=worker).delete()
        written = _erase_texts(worker) if erasure.texts else 0
        typed = _erase_reasons(worker) if erasure.reasons else 0
        if identity is not None:
            identity.delete()
        if account is not None:
            if account.email:
                StaffInvitation.objects.filter(email__iexact=account.email).delete()
            account.delete()
        worker.erased_at = worker.erased_at or database.now()
        worker.save(update_fields=["erased_at"])
        because = AuditEntry.THEMSELVES if by_themselves else ""
        record(actor=actor, act="erase_worker", worker=worker.pseudonym, again=not note, because=because)
        if note:
            # Before the commit: an extra entry is harmless, a missing one lets a restore undo the erasure.
            for name in names:
                erasures.note_erasure(erasure._replace(pseudonym=name), worker.erased_at)
    return Erased(worker.pseudonym, account is not None, ended.sessions, comments, written, typed)


def _locked_alone(worker: Worker) -> tuple[Identity | None, Account | None]:
    """Return a worker's identity and account, locked: nothing of theirs is stored, due or granted from then
    on. Raises PhraseboxError if they were just merged into another worker.

    Locks in the order of `confirmation` and `joining`: studies, visits, campaigns, images, tasks,
    assignments, the worker, then identity and account.
    """
    visits = Visit.objects.filter(identity__worker=worker)
    _lock(Study.objects.filter(pk__in=list(visits.values_list("study", flat=True))))
    _lock(visits)
    _lock(Campaign.objects.filter(pk__in=list(worker.trust_states.values_list("campaign", flat=True))))
    held = Assignment.objects.filter(worker=worker, state=Assignment.LEASED)
    _lock(OpenImage.objects.filter(pk__in=list(held.values_list("task__image", flat=True))))
    for assignment in list(held.order_by("pk").values_list("pk", flat=True)):
        leases.return_lease(worker=worker.pk, assignment=assignment)
    if not _lock(Worker.objects.filter(pk=worker.pk)):
        raise PhraseboxError(
            f"worker {worker.pseudonym!r} has just become another one; look who they are now"
        )
    identity = Identity.objects.select_for_update().filter(worker=worker).first()
    account = Account.objects.select_for_update(of=("self",)).filter(identity__worker=worker).first()
    return identity, account


def _lock(rows: QuerySet[Any]) -> list[Any]:
    return list(rows.order_by("pk").select_for_update(no_key=True, of=("self",)).values_list("pk", flat=True))


def _refuse_where_owed(worker: Worker) -> None:
    owed = payments.unpaid(worker=worker.pk)
    if owed:
        amounts = ", ".join(
            f"{money(amount, payments.currency_of(campaign))} in campaign {campaign.name!r}"
            for campaign, amount in owed
        )
        raise PhraseboxError(f"worker {worker.pseudonym!r} is still due {amounts}; pay them first")


def _refuse_staff(worker: Worker, account: Account | None) -> None:
    if account is not None and account.has_staff_role:
        raise PhraseboxError(
            f"the account of worker {worker.pseudonym!r} has a staff role, and what it did is on record; "
            "revoke its roles first"
        )


def _remains(worker: Worker, erasure: Erasure) -> bool:
    """Whether anything that erasing deletes exists."""
    return (
        worker.erased_at is None
        or (erasure.texts and has_written(worker))
        or (erasure.reasons and has_reasons(worker))
        or Identity.objects.filter(worker=worker).exists()
        or WorkerMessage.objects.filter(worker=worker).exists()
        or Flag.objects.filter(judgment__worker=worker).exclude(comment="").exists()
    )


def _forget_visits(identity: Identity | None) -> list[str]:
    """Delete platforms' reports on somebody's submissions; return their pseudonyms before confirmation."""
    if identity is None:
        return []
    visits = Visit.objects.filter(identity=identity)
    visits_forgotten = visits.values_list("study__provider", "external_id", "participant", "came_as")
    for provider, submission, participant, _was in visits_forgotten:
        reports = PlatformReport.objects.filter(provider=provider)
        reports.filter(Q(submission=submission) | Q(participant=participant)).delete()
    return sorted({was for *_rest, was in visits_forgotten if was})
