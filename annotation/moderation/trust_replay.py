"""Recompute trust states from stored judgments.

A trust state is the fold of its events, which follow from judgments: the worker's own answers, and for
drawers the verdicts on their boxes. Recomputed after judgments were withdrawn or restored, or a control item
proved wrong, it is what it would be without these.

Each event counts under the settings of its lease, as when it happened.

Events are in the order of their judgments. A box's verdict is the first vote on each key about it. Admitted
workers stay admitted, even if a test was added later.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

from django.db.models import QuerySet

from annotation.common import database
from annotation.models import Judgment, PageControl, Worker
from annotation.models import TrustState as Row
from annotation.protocol.kinds import is_page, judged_by
from annotation.protocol.model_annotators import model_trust
from annotation.protocol.questions import CONTROL, VOTE
from annotation.protocol.trust import QUALIFICATION as BEFORE
from annotation.protocol.trust import (
    BoxJudged,
    ControlGraded,
    Event,
    QualificationTaken,
    TaskAnswered,
    WorkerJoined,
    WorkerTrust,
    admitted,
    trust_after_or_same,
)
from annotation.quality import controls, worker_trust
from annotation.quality.qualification import QUALIFICATION_ROLE as QUALIFICATION
from annotation.selectors.campaigns import settings_by_version

#: Number of images whose verdicts are read at a time.
_CHUNK = 500


def replay_row(row: Row) -> WorkerTrust:
    """Return the trust state after the stored events of a row, from its beginning or renewal."""
    campaign = row.campaign
    trust = WorkerTrust(
        row.kind,
        entered=WorkerJoined(row.entered_tasks, row.entered_approved) if row.entered else None,
        examined=QualificationTaken(row.examined_right or 0, row.examined_items)
        if row.examined_items
        else None,
    )
    if row.state != BEFORE:
        trust = admitted(trust)
    is_model = row.worker.kind == Worker.MODEL
    rules = {
        version: model_trust(settings.trust, settings.model_annotator)
        if is_model
        else controls.trust_rules_in_force(
            settings.trust, campaign=campaign.pk, kind=row.kind, revision=campaign.revision
        )
        for version, settings in settings_by_version(campaign).items()
    }
    for _, version, event in sorted(events_of(row), key=lambda numbered: numbered[0]):
        trust = trust_after_or_same(trust, event, rules[version])
    return trust


def events_of(row: Row) -> Iterator[tuple[int, int, Event]]:
    """Yield the events of a trust state since its beginning, each with its judgment's id and the version of
    the settings of the judgment's lease; unordered."""
    judgments = Judgment.objects.filter(
        campaign=row.campaign_id, worker=row.worker_id, kind=row.kind, id__gt=row.since, source=""
    )
    judgments = judgments.exclude(role=QUALIFICATION)
    if is_page(row.kind):
        yield from _of_pages(judgments)
        return
    columns = ("id", "assignment__settings_version", "role", "assignment__right")
    for id, version, role, right in judgments.values_list(*columns):
        # A control item whose answer was withdrawn counts like any other.
        yield id, version, TaskAnswered() if role != CONTROL or right is None else ControlGraded(right)
    if judged_by(row.kind):
        is_model = row.worker.kind == Worker.MODEL
        # Verdicts on boxes from before a model annotator's last training do not count.
        for id, version, good, asked_at in _verdicts(row, since=row.since if is_model else 0):
            if id > row.since and (
                is_model
                or controls.tells_of_drawer(row.campaign_id, row.kind, row.campaign.revision, asked_at)
            ):
                yield id, version, BoxJudged(good)


def _of_pages(judgments: QuerySet[Judgment]) -> Iterator[tuple[int, int, Event]]:
    """Each image of a page is an item, in the order shown, even if a checked answer was withdrawn."""
    rights = dict[tuple[int, int], bool | None]()
    for assignment, control, right in PageControl.objects.filter(
        assignment__in=judgments.values("assignment")
    ).values_list("assignment", "control", "right"):
        rights[assignment, control] = right
    columns = ("id", "assignment", "assignment__settings_version", "content")
    for id, assignment, version, content in judgments.values_list(*columns):
        for block in (content or {})["blocks"]:
            right = rights.get((assignment, block.get("control", 0)))
            yield id, version, TaskAnswered() if right is None else ControlGraded(right)


def replay_rows(rows: Iterable[int]) -> list[int]:
    """Recompute trust states (ids of their rows), each in a transaction of its own; return the ids of those
    that changed.

    Researchers' decisions about them, and results of tests, stay.
    """
    changed = []
    for pk in rows:
        with database.writing():
            row = Row.objects.select_for_update(no_key=True).get(pk=pk)
            trust = replay_row(row)
            if trust != worker_trust.trust_from_row(row):
                worker_trust.store_trust(row, trust)
                changed.append(pk)
    return changed


def _verdicts(row: Row, *, since: int) -> Iterator[tuple[int, int, bool, datetime]]:
    """Yield the valid verdicts on a drawer's boxes whose judgment comes after `since`, including boxes that
    the drawer has changed: id of the verdict's judgment, version of its lease's settings, whether the box is
    good, and when the question opened."""
    drawn: dict[int, set[str]] = defaultdict(set)
    boxes = Judgment.objects.filter(
        campaign=row.campaign_id,
        worker=row.worker_id,
        kind=row.kind,
        image__isnull=False,
        id__gt=since,
    )
    for image, name in boxes.values_list("image", "name"):
        drawn[image].add(name)
    images = list(drawn)
    for start in range(0, len(images), _CHUNK):
        seen: set[tuple[int, str]] = set()
        votes = Judgment.objects.filter(
            image__in=images[start : start + _CHUNK],
            kind=judged_by(row.kind),
            role=VOTE,
            withdrawn=False,
            flag="",
        ).exclude(worker=row.worker_id)
        columns = ("id", "image", "key", "answer", "assignment__leased_at", "assignment__settings_version")
        for id, image, key, answer, asked_at, version in votes.order_by("id").values_list(*columns):
            if key.split("|")[1] in drawn[image] and (image, key) not in seen:
                seen.add((image, key))
                yield id, version, answer == "good", asked_at
