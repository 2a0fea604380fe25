"""A researcher's acts on workers: suspend, reinstate, withdraw and restore their judgments; and on a wrong
control item.

Withdrawn judgments stay stored and paid, and no fold reads them. The images concerned are folded again one by
one, so that their questions and results depend only on the others' judgments. Both directions consist of
steps that may be repeated: an interrupted act is finished by repeating it. If one direction starts while the
other runs, the later one wins: the earlier stops at the next image.

Locks: the campaign, image by image, then trust states in the order of their ids.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.db.models import Max, QuerySet

from annotation.audit import record
from annotation.common import database
from annotation.models import (
    Account,
    Assignment,
    Campaign,
    Control,
    Judgment,
    PageControl,
    TrustState,
    Worker,
)
from annotation.moderation import recomputing, trust_replay
from annotation.moderation.control_items import lock_campaigns, names_of_items
from annotation.protocol.campaign_settings import CampaignSettings, settings_of
from annotation.protocol.kinds import model_kinds
from annotation.protocol.model_annotators import model_trust
from annotation.protocol.questions import CONTROL
from annotation.protocol.trust import (
    QUALIFICATION,
    SUSPENDED,
    QualificationTaken,
    WorkerJoined,
    trust_after,
    trust_after_or_same,
)
from annotation.protocol.trust import WorkerTrust as Pure
from annotation.protocol.trust_settings import TrustSettings
from annotation.quality import qualification, worker_trust
from annotation.quality.controls import retire_control_items
from annotation.quality.controls.authoring import raise_revision
from annotation.queue import leases
from phrasebox.errors import PhraseboxError

_Progress = Callable[[int, int], object]


class CannotDo(PhraseboxError):
    """An act that is impossible for this worker; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class Done:
    """Result of withdrawing or restoring: the numbers of changed judgments and images, of drawers whose trust
    state changed with it, of control items retired for it, and the names of these; `overtaken` are the kinds
    at which it stopped, because the opposite was requested meanwhile."""

    kinds: tuple[str, ...]
    judgments: int
    images: int
    drawers: int
    retired: int = 0
    items: tuple[str, ...] = ()
    overtaken: tuple[str, ...] = ()


def worker_named(pseudonym: str, campaign: Campaign) -> int:
    """Return the id of the worker of that pseudonym who has a trust state in the campaign. Raises
    CannotDo."""
    worker = Worker.objects.filter(pseudonym=pseudonym, trust_states__campaign=campaign).first()
    if worker is None:
        raise CannotDo(f"campaign {campaign.name!r} has no worker {pseudonym!r}")
    return worker.pk


def withdraw_worker_answers(
    *,
    campaign: Campaign,
    worker: int,
    kind: str | None = None,
    reason: str = "",
    actor: Account | None = None,
    progress: _Progress = lambda done, total: None,
) -> Done:
    """Withdraw a worker's judgments of a kind (None: all) and remove them from it. A suspension is
    independent.

    Answers that arrive later are stored as withdrawn. Drawers whose boxes they judged, and control items
    promoted with their votes, are checked again. `progress` is called with the number of images done and in
    all.
    """
    kinds = _kinds(campaign, kind, worker)
    _check_reason(reason)
    with database.writing():
        lock_campaigns([campaign.pk])
        fresh = [row for row in _locked(campaign, worker, kinds) if row.withdrawn_at is None]
        for row in fresh:
            row.withdrawn_at, row.withdrawn_reason = database.now(), reason
            row.save(update_fields=["withdrawn_at", "withdrawn_reason"])
        if fresh:
            _record("withdraw_worker_answers", campaign, worker, fresh, actor, reason=reason)
    held = Assignment.objects.filter(
        campaign=campaign, worker=worker, kind__in=kinds, state=Assignment.LEASED
    ).values_list("id", flat=True)
    for assignment in list(held):
        leases.return_lease(worker=worker, assignment=assignment)
    marked = _mark(campaign, worker, kinds, withdrawn=True, actor=actor, progress=progress)
    theirs = Judgment.objects.filter(campaign=campaign, worker=worker, kind__in=kinds)
    voted_on = recomputing.promoted_with(
        campaign, theirs, [any_kind for any_kind in kinds if any_kind not in marked.overtaken]
    )
    marked.retired += Control.objects.filter(pk__in=voted_on).select_related("image").order_by("pk")
    retire_control_items(campaign=campaign, controls=voted_on, actor=actor)
    # Figures that were cached meanwhile saw some images in their old state.
    raise_revision(campaign)
    return marked.done(kinds, drawers=recomputing.recompute_drawers(campaign, theirs))


def restore_worker_answers(
    *,
    campaign: Campaign,
    worker: int,
    kind: str | None = None,
    actor: Account | None = None,
    progress: _Progress = lambda done, total: None,
) -> Done:
    """Undo `withdraw_worker_answers`: the judgments count again, in their original order, except those that a
    reviewer rejected, and the worker is active again, unless they are suspended.

    Control items that were retired stay so; those that the judgments contradict now are retired, too.
    """
    kinds = _kinds(campaign, kind, worker)
    with database.writing():
        lock_campaigns([campaign.pk])
        back = [row for row in _locked(campaign, worker, kinds) if row.withdrawn_at is not None]
        for row in back:
            row.withdrawn_at, row.withdrawn_reason = None, ""
            row.save(update_fields=["withdrawn_at", "withdrawn_reason"])
        if back:
            _record("restore_worker_answers", campaign, worker, back, actor)
    marked = _mark(campaign, worker, kinds, withdrawn=False, actor=actor, progress=progress)
    raise_revision(campaign)
    theirs = Judgment.objects.filter(campaign=campaign, worker=worker, kind__in=kinds)
    return marked.done(kinds, drawers=recomputing.recompute_drawers(campaign, theirs))


def suspend_worker(
    *,
    campaign: Campaign,
    worker: int,
    kind: str | None = None,
    reason: str = "",
    actor: Account | None = None,
) -> tuple[str, ...]:
    """Suspend a worker from a kind (None: all); their leased tasks still count. Return the kinds that this
    changed.

    The worker sees `reason`.
    """
    _check_reason(reason)
    with database.writing():
        rows = [row for row in _locked(campaign, worker, _kinds(campaign, kind, worker)) if not row.blocked]
        for row in rows:
            row.blocked, row.reason = True, reason
            row.save(update_fields=["blocked", "reason"])
        if rows:
            _record("suspend_worker", campaign, worker, rows, actor, reason=reason)
    return tuple(row.kind for row in rows)


def reinstate_worker(
    *, campaign: Campaign, worker: int, kind: str | None = None, actor: Account | None = None
) -> tuple[str, ...]:
    """Reinstate a worker at a kind (None: all). Return the kinds that this changed.

    If the rules had suspended them, or they had failed all attempts of the test, their trust state is
    renewed: a passed test stays, everything else counts from here. Raises CannotDo if their judgments are
    withdrawn.
    """
    settings = settings_of(campaign.settings)
    changed = []
    with database.writing():
        # Before rows are created: a worker cannot be reinstated to a trust state that they never had.
        rows = TrustState.objects.select_for_update(no_key=True).filter(
            campaign=campaign, worker=worker, kind__in=_kinds(campaign, kind, worker)
        )
        for row in rows.order_by("id"):
            if row.withdrawn_at is not None:
                raise CannotDo(
                    f"the judgments of this worker on {row.kind} are withdrawn; restore them first"
                )
            failed = (
                row.state == QUALIFICATION
                and qualification.count_tests_taken(row) >= qualification.TEST_ATTEMPTS
            )
            if row.state == SUSPENDED or failed:
                newest = Judgment.objects.filter(campaign=campaign).aggregate(id=Max("id"))["id"]
                trust = Pure(row.kind)
                rules = _rules(campaign, row, settings)
                if row.entered:
                    trust = trust_after(trust, WorkerJoined(row.entered_tasks, row.entered_approved), rules)
                if row.examined_items and not failed:
                    result = QualificationTaken(row.examined_right or 0, row.examined_items)
                    trust = trust_after_or_same(trust, result, rules)
                worker_trust.store_trust(row, trust, since=newest or 0, blocked=False, reason="")
            elif row.blocked:
                row.blocked, row.reason = False, ""
                row.save(update_fields=["blocked", "reason"])
            else:
                continue
            changed.append(row)
        if changed:
            _record("reinstate_worker", campaign, worker, changed, actor)
    return tuple(row.kind for row in changed)


def disown_control_item(*, campaign: Campaign, control: int, actor: Account | None = None) -> int:
    """Retire a wrong control item, and recompute without it the trust states that it had measured.

    Return how many trust states changed. Results of finished tests stay.
    """
    with database.writing():
        answers = Assignment.objects.filter(campaign=campaign, control=control, role=CONTROL)
        on_pages = PageControl.objects.filter(assignment__campaign=campaign, control=control)
        workers = {
            *answers.filter(right__isnull=False).values_list("worker", flat=True),
            *on_pages.filter(right__isnull=False).values_list("assignment__worker", flat=True),
        }
        answers.update(right=None)
        on_pages.update(right=None)
        retire_control_items(campaign=campaign, controls=[control], actor=actor)
    kind = Control.objects.values_list("kind", flat=True).get(pk=control)
    rows = TrustState.objects.filter(campaign=campaign, worker__in=workers, kind=kind).order_by("id")
    return len(trust_replay.replay_rows(rows.values_list("id", flat=True)))


def _check_reason(reason: str) -> None:
    longest = TrustState._meta.get_field("reason").max_length
    if longest is not None and len(reason) > longest:
        raise CannotDo(f"the reason has {len(reason)} characters; say it in {longest} or fewer")


def _kinds(campaign: Campaign, kind: str | None, worker: int) -> tuple[str, ...]:
    kinds, who = campaign.kinds, f"campaign {campaign.name!r} asks"
    if Worker.objects.filter(pk=worker, kind=Worker.MODEL).exists():
        kinds, who = model_kinds(kinds), "a model annotator answers"
    if kind is not None and kind not in kinds:
        raise CannotDo(f"unknown kind {kind!r}; {who} {', '.join(kinds)}")
    return kinds if kind is None else (kind,)


def _rules(campaign: Campaign, row: TrustState, settings: CampaignSettings) -> TrustSettings:
    """Return the trust rules for a worker at a kind."""
    if row.worker.kind == Worker.MODEL:
        return model_trust(settings.trust, settings.model_annotator)
    return qualification.campaign_trust_rules(campaign, row.kind, settings)


def _locked(campaign: Campaign, worker: int, kinds: Sequence[str]) -> QuerySet[TrustState]:
    """Return the worker's trust states of `kinds`, created if missing, locked in the order of their ids."""
    settings = settings_of(campaign.settings)
    for kind in kinds:
        rules = qualification.campaign_trust_rules(campaign, kind, settings)
        worker_trust.join_campaign(worker=worker, campaign=campaign, kind=kind, settings=rules)
    rows = TrustState.objects.filter(campaign=campaign, worker=worker, kind__in=kinds)
    return rows.select_for_update(no_key=True).order_by("id")


def _record(
    act: str,
    campaign: Campaign,
    worker: int,
    rows: Sequence[TrustState],
    actor: Account | None,
    **about: str,
) -> None:
    name = Worker.objects.values_list("pseudonym", flat=True).get(pk=worker)
    kinds = [row.kind for row in rows]
    record(actor=actor, act=act, campaign=campaign, worker=name, kinds=kinds, **about)


@dataclass(slots=True)
class _Marked:
    """The counts of marking so far."""

    judgments: int = 0
    images: int = 0
    retired: list[Control] = field(default_factory=list)
    overtaken: set[str] = field(default_factory=set)

    def done(self, kinds: tuple[str, ...], *, drawers: int) -> Done:
        items = tuple(map(str, names_of_items(self.retired)))
        overtaken = tuple(kind for kind in kinds if kind in self.overtaken)
        return Done(kinds, self.judgments, self.images, drawers, len(items), items, overtaken)


def _mark(
    campaign: Campaign,
    worker: int,
    kinds: Sequence[str],
    *,
    withdrawn: bool,
    actor: Account | None,
    progress: _Progress,
) -> _Marked:
    """Mark the worker's judgments of `kinds`, image by image, and recompute each.

    Kinds whose trust states have the opposite mark by now are skipped, and it ends if no other is left: the
    act that changed them marks all images itself, since it writes the trust states under the campaign's lock.
    """
    mine: QuerySet[Judgment] = Judgment.objects.filter(
        campaign=campaign, worker=worker, kind__in=kinds, image__isnull=False
    )
    left = mine.filter(withdrawn=False) if withdrawn else recomputing.released(mine)
    opposite = TrustState.objects.filter(
        campaign=campaign, worker=worker, kind__in=kinds, withdrawn_at__isnull=withdrawn
    ).values_list("kind", flat=True)
    total = left.values("image").distinct().count()
    after_image = 0
    marked = _Marked()
    while chunk := recomputing.images_with_answers(left, after_image):
        for image in chunk:
            with database.writing():
                lock_campaigns([campaign.pk])
                overtaken = set(opposite.all())
                marked.overtaken |= overtaken
                if overtaken >= set(kinds):
                    return marked
                recomputing.lock_image(image)
                changed = left.filter(image=image).exclude(kind__in=overtaken)
                marked.judgments += changed.update(withdrawn=withdrawn)
                marked.retired += recomputing.recompute_image(image, actor=actor)
            marked.images += 1
            progress(marked.images, total)
        after_image = chunk[-1]
    return marked
