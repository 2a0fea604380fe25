"""A play on the queue: a scripted crowd, step by step, with its own clock and a ledger of acknowledged
answers; and the invariants of the database, in SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import count
from typing import Any
from unittest import mock

import pytest
from django.db import connection

from annotation.common import database
from annotation.datasets import layer_rows
from annotation.models import Assignment, Campaign, Judgment, OpenImage, Ruling, Task, Worker
from annotation.moderation.reopening import CannotReopen, change_answer
from annotation.protocol import questions as q
from annotation.protocol.boxes import REVIEW
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.contents import corners, mention_from, question_from, ruling_from, ruling_json
from annotation.protocol.image import Fold
from annotation.protocol.state import ImageState
from annotation.protocol.terms import Box, ImageRecord, LayerRecord, renamed
from annotation.queue import image_state, leases, submission
from annotation.queue.leases import Lease
from annotation.queue.submission import Answer, Receipt
from annotation.selectors.records import stream_records
from annotation.simulation.driver import rulings_of
from tests.queue.world import World
from tests.rehearsal.script import Script

#: Queries that must return no rows at any time: (what a row would mean, SQL).
NEVER = (
    (
        "an open image that miscounts its answers",
        """SELECT o.id, o.answers FROM annotation_openimage o WHERE o.answers <>
               (SELECT count(*) FROM annotation_judgment j WHERE j.image_id = o.id AND NOT j.withdrawn)""",
    ),
    ("a task given to more than it wants", "SELECT id FROM annotation_task WHERE live > needed"),
    (
        "an open task that miscounts its leases and votes",
        """SELECT t.id, t.kind, t.role, t.live, t.needed FROM annotation_task t
           WHERE t.state = 'open' AND t.live <>
               (SELECT count(*) FROM annotation_assignment a WHERE a.task_id = t.id AND a.state = 'leased')
             + (SELECT count(*) FROM annotation_judgment j
                WHERE j.image_id = t.image_id AND j.key = t.key AND j.role = 'vote' AND NOT j.withdrawn)""",
    ),
    (
        "a worker who judged a key twice",
        """SELECT image_id, worker_id, key FROM annotation_judgment WHERE image_id IS NOT NULL
           GROUP BY image_id, worker_id, key HAVING count(*) > 1""",
    ),
    (
        "an answer without its judgment, or with two",
        """SELECT a.id FROM annotation_assignment a
           LEFT JOIN annotation_judgment j ON j.assignment_id = a.id
           WHERE a.state = 'submitted' GROUP BY a.id HAVING count(j.id) <> 1""",
    ),
    (
        "a judgment of an assignment that was not handed in",
        """SELECT j.id FROM annotation_judgment j JOIN annotation_assignment a ON a.id = j.assignment_id
           WHERE a.state <> 'submitted'""",
    ),
    (
        "a drawer who judged their own box",
        """SELECT j.id FROM annotation_judgment j JOIN annotation_task t
               ON t.image_id = j.image_id AND t.key = j.key
           WHERE t.kind = 'box_quality' AND t.barred_id = j.worker_id""",
    ),
)


def check_database() -> None:
    """Fail with a message if an invariant of the database is violated."""
    with connection.cursor() as cursor:
        for what, statement in NEVER:
            cursor.execute(statement)
            assert (result := cursor.fetchall()) == [], f"{what}: {result}"


class Play:
    """A campaign over `records`, with workers numbered from 0 who are created when first used."""

    def __init__(self, records: Sequence[ImageRecord], script: Script, settings: dict[str, Any]) -> None:
        self.script = script
        self.at = database.now()
        # Random numbers depend on names. The names do not depend on earlier plays, so that a play alone gives
        # the same result.
        name = f"play-{Campaign.objects.count()}"
        self.world = World(records, settings=settings, name=name, workers=0)
        self.campaign = self.world.campaign
        self.people: dict[int, int] = {}
        self.hands: dict[int, list[Lease]] = {}
        self.past: dict[int, list[tuple[Lease, Answer, str]]] = {}
        self.acknowledged: set[int] = set()
        self.tokens = count()
        #: Votes that decided a question may be gone, and the question with them.
        self.withdrawn = False
        #: A worker changed an answer: the same effect. Answers to tasks in hand may have no effect.
        self.changed = False

    def time(self) -> mock._patch[Callable[[], Any]]:
        """Return a patch with which the queue uses this play's clock, for a `with` block."""
        return mock.patch.object(database, "now", lambda: self.at)

    def worker(self, number: int) -> int:
        if number not in self.people:
            row = Worker.objects.create(pseudonym=f"{self.campaign.name}-{number}")
            self.people[number] = row.pk
            self.hands[number] = []
            self.past[number] = []
        return self.people[number]

    # Actions --------------------------------------------------------------------------------------

    def take(self, number: int, step: int = 0) -> bool:
        """Take a new task of any kind, in addition to those in hand; return whether there was one."""
        worker = self.worker(number)
        holding = [lease.id for lease in self.hands[number]]
        for i in range(len(q.QUESTIONS)):
            kind = q.QUESTIONS[(step + i) % len(q.QUESTIONS)]
            result = leases.take_lease(worker=worker, campaign=self.campaign, kind=kind, holding=holding)
            if isinstance(result, Lease):
                if result.id in holding:
                    # It had expired, and is this worker's again.
                    assert Assignment.objects.get(pk=result.id).state == Assignment.LEASED
                    return False
                self.hands[number].append(result)
                return True
        return False

    def reload(self, number: int, step: int) -> None:
        """Reload a page: the same task must be returned."""
        worker = self.worker(number)
        for lease in self.hands[number]:
            row = Assignment.objects.get(pk=lease.id)
            if row.state == Assignment.LEASED:
                result = leases.take_lease(worker=worker, campaign=self.campaign, kind=lease.kind)
                assert isinstance(result, Lease) and result.kind == lease.kind
                held = Assignment.objects.filter(worker=worker, kind=lease.kind, state=Assignment.LEASED)
                assert result.id in held.values_list("id", flat=True)
                return

    def answer(self, number: int, step: int = 0) -> Receipt | None:
        """Submit an answer to a task that was taken: in time, or after it expired or was returned."""
        worker = self.worker(number)
        if not self.hands[number]:
            self.take(number, step)
        if not self.hands[number]:
            return None
        lease = self.hands[number].pop(step % len(self.hands[number]))
        row = Assignment.objects.get(pk=lease.id)
        if row.state == Assignment.SUBMITTED:
            return None  # Taken again after it expired, and answered then.
        reply = self._reply(lease)
        token = f"{number}-{next(self.tokens)}"
        receipt = submission.submit(
            worker=worker,
            assignment=lease.id,
            answer=reply,
            token=token,
            holding=[another.id for another in self.hands[number]],
            then=step % 2 == 0,
        )
        assert not receipt.repeated and lease.id not in self.acknowledged
        self.acknowledged.add(lease.id)
        self.past[number].append((lease, reply, token))
        if isinstance(receipt.next, Lease) and receipt.next.id not in {h.id for h in self.hands[number]}:
            self.hands[number].append(receipt.next)
        return receipt

    def click_again(self, number: int, step: int) -> None:
        """Send the newest answer again, with its token."""
        if not self.past.get(number):
            return
        lease, provided, token = self.past[number][-1 - step % len(self.past[number])]
        before = Judgment.objects.count()
        receipt = submission.submit(
            worker=self.people[number], assignment=lease.id, answer=provided, token=token, then=False
        )
        assert receipt.repeated and Judgment.objects.count() == before

    def answer_again(self, number: int, step: int) -> None:
        """Send an old answer again, with another token."""
        if not self.past.get(number):
            return
        lease, provided, _ = self.past[number][-1 - step % len(self.past[number])]
        with pytest.raises(submission.Conflict):
            submission.submit(
                worker=self.people[number],
                assignment=lease.id,
                answer=provided,
                token=f"other-{next(self.tokens)}",
            )

    def change(self, number: int, step: int) -> bool:
        """Change one of the newest answers, even if others have built on it; False if it cannot change."""
        if not self.past.get(number):
            return False
        lease, _, _ = self.past[number][-1 - step % min(5, len(self.past[number]))]
        another = q.ANSWERS[lease.kind][step // 5 % len(q.ANSWERS[lease.kind])]
        box = Box(1 + step, 1, 9 + step, 9) if another == "drawn" else None
        try:
            changed = change_answer(
                worker=self.people[number], assignment=lease.id, answer=Answer(another, box)
            )
        except CannotReopen:
            return False
        self.changed |= changed
        return changed

    def give_back(self, number: int, step: int) -> None:
        """Return a task, and remember it: it may still be answered late."""
        worker = self.worker(number)
        if self.hands[number]:
            lease = self.hands[number][step % len(self.hands[number])]
            leases.return_lease(worker=worker, assignment=lease.id)

    def renew(self, number: int, step: int) -> None:
        worker = self.worker(number)
        for lease in self.hands[number]:
            row = Assignment.objects.get(pk=lease.id)
            renewed = leases.renew_lease(worker=worker, assignment=lease.id)
            assert (renewed is not None) == (row.state == Assignment.LEASED)

    def wait(self, number: int, step: int) -> None:
        self.at += timedelta(minutes=1 + step % 25)

    def sweep(self, number: int, step: int) -> None:
        leases.end_expired_leases()
        assert not Assignment.objects.filter(
            campaign=self.campaign, state=Assignment.LEASED, expires_at__lt=self.at
        ).exists()

    def _reply(self, lease: Lease) -> Answer:
        """Return the script's reply for the vote that this answer will be."""
        question = question_from(lease.kind, lease.key, lease.content)
        truth = self.world.truths[lease.image]
        votes = Judgment.objects.filter(
            image__campaign=self.campaign, image__image=lease.image, key=lease.key, role=q.VOTE
        ).count()
        if lease.control is not None:
            return Answer(*truth.answer(question))
        answer, box, flag = self.script.reply(question, truth, votes)
        return Answer(answer, box, flag)

    # The end --------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Let all leases expire; new workers answer what is left, and a reviewer decides what is stuck."""
        self.at += timedelta(minutes=25)
        leases.end_expired_leases()
        for number in count(100):
            self.worker(number)
            while self.hands[number] or self.take(number, step=number):
                self.answer(number)
                check_database()
            if number % 3 == 2 and not self._rule() and not self._open():
                return
            assert number < 400, f"this play does not end: {self._open()}"

    def _open(self) -> list[Any]:
        return list(Task.objects.filter(campaign=self.campaign, state=Task.OPEN).values_list("kind", "key"))

    def _rule(self) -> bool:
        """Let a reviewer who knows the gold decide on images without open questions."""
        ruled = False
        for row in OpenImage.objects.filter(campaign=self.campaign, complete=False):
            state = image_state.state_of(row)
            if state.questions:
                continue
            for ruling in rulings_of(state, self.world.truths[row.image_id]):
                Ruling.objects.create(image=row, content=ruling_json(ruling))
                ruled = True
            row.rulings_version += 1
            row.save(update_fields=["rulings_version"])
            image_state.refold_image(row.pk)
        return ruled

    # Results --------------------------------------------------------------------------------------

    def check_fold(self) -> list[ImageState]:
        """Check that the stored state of each image equals a pure fold of its judgments and rulings."""
        states = []
        for row in OpenImage.objects.filter(campaign=self.campaign).order_by("position"):
            state = _pure_state(row)
            states.append(state)
            assert row.complete == state.complete
            assert row.in_review == sum(chain.stage == REVIEW for chain in state.chains)
            assert [(c["m"], c["s"], c["k"], c["r"], c["b"]) for c in row.state["chains"]] == [
                ([m.id for m in c.mentions], c.stage, c.kind, c.reason, [corners(d.box) for d in c.boxes])
                for c in state.chains
            ]
            moves = row.moves.filter(undone_at=None).order_by("chain", "number")
            assert [(m.chain, m.stage, m.outcome, m.next) for m in moves] == sorted(
                (
                    (" ".join(m.id for m in c.mentions), move.stage, move.outcome, move.next)
                    for c in state.chains
                    for move in c.moves
                ),
                key=lambda move: move[0],
            )
            self._check_tasks(row, state)
        return states

    def _check_tasks(self, row: OpenImage, state: ImageState) -> None:
        questions = {question.key: question for question in state.questions}
        tasks = {task.key: task for task in row.tasks.all()}
        assert questions.keys() <= tasks.keys()
        for key, task in tasks.items():
            votes = row.judgments.filter(key=key, role=q.VOTE, withdrawn=False).count()
            held = task.assignments.filter(state=Assignment.LEASED).count()
            if key in questions:
                assert task.state == Task.OPEN and task.role == q.VOTE
                assert task.needed == max(votes + questions[key].needed, votes + held)
                content = task.items.get().content
                assert tuple(content["mentions"]) == questions[key].mentions
            elif task.state == Task.OPEN:
                assert task.role == q.DOUBLE_CHECK and key in row.state["checks"]
            elif self.withdrawn or self.changed:
                assert task.state in (Task.SETTLED, Task.WITHDRAWN)
            else:
                assert task.state == (Task.SETTLED if votes else Task.WITHDRAWN)

    def layer(self) -> list[LayerRecord]:
        """Return the campaign's layer, image by image, after a refresh."""
        layer_rows.refresh_layer_rows(self.campaign)
        layer = self.world.corpus.layers.get(name=self.campaign.name)
        layers = [record.layer for record in stream_records(corpus=self.world.corpus, layer=layer)]
        assert None not in layers
        return [by_first_mention(layer) for layer in layers if layer is not None]


def by_first_mention(layer: LayerRecord) -> LayerRecord:
    """Return the layer with each chain named after its first mention, as in folds."""
    return renamed(layer, {chain.id: chain.mentions[0].id for chain in layer.chains})


def _box(row: Judgment) -> Box | None:
    if row.xmin is None or row.ymin is None or row.xmax is None or row.ymax is None:
        return None
    return Box(row.xmin, row.ymin, row.xmax, row.ymax)


def _pure_state(row: OpenImage) -> ImageState:
    judgments = [
        q.Judgment(
            id=j.name,
            key=j.key,
            worker=j.worker.pseudonym,
            answer=j.answer,
            box=_box(j),
            flag=j.flag,
            role=j.role,
            withdrawn=j.withdrawn,
        )
        for j in row.judgments.select_related("worker").order_by("id")
    ]
    rulings = [ruling_from(r.content) for r in row.rulings.filter(withdrawn_at=None).order_by("id")]
    mentions = [mention_from(mention) for mention in row.mentions]
    return Fold(mentions, settings_of(row.settings).protocol, rulings)(judgments)
