"""Recount every figure of a campaign from the stored judgments, rulings and leases.

The fold itself is tested elsewhere; here images are folded from all rows, and all other displayed figures are
counted from that in plain Python.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import Any

from annotation.models import Assignment, Campaign, Control, Judgment, OpenImage, Payout, Task, Worker
from annotation.protocol import questions as q
from annotation.protocol.agreement import AnswerPair
from annotation.protocol.boxes import EXCLUDED, REVIEW
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.state import ImageState
from annotation.protocol.terms import LayerRecord
from annotation.selectors.campaign import progress
from tests.rehearsal.play import _pure_state, by_first_mention


@dataclass(frozen=True)
class Image:
    """An open image: its row, and the result of its judgments and rulings."""

    row: OpenImage
    state: ImageState
    answers: int

    @property
    def begun(self) -> bool:
        return self.row.version > 0

    @property
    def covered(self) -> bool:
        return self.begun or self.state.complete


class Recount:
    """All rows of a campaign, read at once."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = Campaign.objects.get(pk=campaign.pk)
        self.judgments = list(
            Judgment.objects.filter(campaign=campaign).select_related("worker").order_by("id")
        )
        self.leases = list(Assignment.objects.filter(campaign=campaign))
        self.tasks = list(Task.objects.filter(campaign=campaign))
        self.payouts = list(Payout.objects.filter(campaign=campaign))
        self.images = []
        for row in OpenImage.objects.filter(campaign=campaign).select_related("image").order_by("position"):
            valid = sum(j.image_id == row.pk and not j.withdrawn for j in self.judgments)
            self.images.append(Image(row, _pure_state(row), valid))

    # The layer ---------------------------------------------------------------------------------------

    def layer(self) -> dict[str, LayerRecord]:
        """Return the part of each image that the layer covers, by key."""
        if not any(image.begun for image in self.images):
            return {}
        return {i.row.image.key: by_first_mention(i.state.layer) for i in self.images if i.covered}

    def counted_layer(self) -> dict[str, LayerRecord]:
        """Like `layer`, without the chains that a reviewer excluded, and their boxes."""
        counted_layer = {}
        for image in self.images:
            if (share := self.layer().get(image.row.image.key)) is None:
                continue
            out = {m.id for c in image.state.chains if c.stage == EXCLUDED for m in c.mentions}
            chains = tuple(chain for chain in share.chains if chain.mentions[0].id not in out)
            left = {chain.id for chain in chains}
            named = [(thing, tuple(name for name in thing.chains if name in left)) for thing in share.objects]
            objects = tuple(replace(thing, chains=names) for thing, names in named if names)
            counted_layer[image.row.image.key] = LayerRecord(chains, objects)
        return counted_layer

    def finished(self) -> set[str]:
        return {image.row.image.key for image in self.images if image.state.complete}

    # The campaign ------------------------------------------------------------------------------------

    def funnel(self) -> dict[str, Any]:
        stages = Counter(chain.stage for image in self.images for chain in image.state.chains)
        done = [image for image in self.images if image.state.complete]
        return {
            "images": len(self.images),
            "planned": 0,
            "begun": sum(image.begun for image in self.images),
            "complete": len(done),
            "finished": sum(image.begun for image in done),
            "in_review": sum(any(c.stage == REVIEW for c in image.state.chains) for image in self.images),
            "answers": sum(image.answers for image in self.images if not image.state.complete),
            "answers_finished": sum(image.answers for image in done),
            "chains": {stage: stages[stage] for stage in progress.CHAIN_STAGES},
        }

    def open_tasks(self) -> dict[str, dict[str, int]]:
        """Return by kind the open questions, answers that a new worker may give, and leased ones."""
        result = {
            kind: dict.fromkeys(("open", "wanting", "in_hand", "double_checks"), 0) for kind in q.QUESTIONS
        }
        held = Counter(lease.task_id for lease in self.leases if lease.state == Assignment.LEASED)
        tasks = {(task.image_id, task.key): task for task in self.tasks}
        for image in self.images:
            questions = {question.key: question for question in image.state.questions}
            for key, question in questions.items():
                of = result[question.kind]
                of["open"] += 1
                of["wanting"] += max(0, question.needed - held[tasks[image.row.pk, key].pk])
        for task in self.tasks:
            if task.role == q.DOUBLE_CHECK and task.state == Task.OPEN:
                votes = sum(
                    j.image_id == task.image_id and j.key == task.key and j.role == q.VOTE and not j.withdrawn
                    for j in self.judgments
                )
                of = result[task.kind]
                of["open"] += 1
                of["double_checks"] += 1
                of["wanting"] += task.needed - votes - held[task.pk]
        for lease in self.leases:
            if lease.state == Assignment.LEASED and lease.role not in (q.CONTROL, "qualification"):
                result[lease.kind]["in_hand"] += 1
        return result

    def to_come(self) -> int | None:
        if self.campaign.state == Campaign.CLOSED:
            return 0
        wanting = sum(of["wanting"] + of["in_hand"] for of in self.open_tasks().values())
        done = [image for image in self.images if image.state.complete]
        if len(done) == len(self.images):
            return wanting
        took = [image.answers for image in done if image.begun]
        if len(took) < progress.TELLING:
            return None
        left = [image.answers for image in self.images if not image.state.complete]
        expected = sum(took) / len(took) * len(left) - sum(left)
        return max(wanting, round(expected))

    # Money -------------------------------------------------------------------------------------------

    def earned(self) -> dict[tuple[int, str, str], tuple[int, int]]:
        """Return by (worker, kind, role) the submitted answers, and what they earned."""
        result: dict[tuple[int, str, str], list[int]] = defaultdict(lambda: [0, 0])
        for lease in self.leases:
            if lease.state == Assignment.SUBMITTED:
                of = result[lease.worker_id, lease.kind, lease.role]
                of[0] += 1
                of[1] += lease.pay
        return {key: (answers, pay) for key, (answers, pay) in result.items()}

    def paid(self) -> dict[int, int]:
        counts: Counter[int] = Counter()
        for payout in self.payouts:
            counts[payout.worker_id] += payout.amount
        return dict(counts)

    def pay_to_come(self) -> int | None:
        answers = self.to_come()
        if not answers:
            return answers
        lines = self.earned()
        on_tasks = sum(
            n for (_, _, role), (n, _) in lines.items() if role not in (q.CONTROL, "qualification")
        )
        earned = sum(pay for _, pay in lines.values())
        return round(answers * earned / on_tasks) if on_tasks else None

    def cost(self) -> dict[str, Any]:
        """Return the cost of the answers, in the form of a layer's cost."""
        result: dict[str, Counter[str]] = {
            name: Counter() for name in ("judgments", "controls", "double_checks")
        }
        for (_, kind, role), (answers, _) in self.earned().items():
            if role == "qualification":
                continue
            names = {q.VOTE: "judgments", q.EXTRA: "judgments", q.DOUBLE_CHECK: "double_checks"}
            result[names.get(role, "controls")][kind] += answers
        return {name: dict(counts) for name, counts in result.items()}

    # Agreement and control items -----------------------------------------------------------------------

    def agreement(self) -> dict[str, tuple[int, list[AnswerPair]]]:
        """Return by kind the number of drawn questions, and the first two answers of people to each."""
        drawn: dict[str, int] = defaultdict(int)
        pairs: dict[str, list[AnswerPair]] = defaultdict(list)
        task_of: dict[int | None, int | None] = {lease.pk: lease.task_id for lease in self.leases}
        usual = [j for j in self.judgments if not j.withdrawn and j.role in (q.VOTE, q.DOUBLE_CHECK)]
        for task in Task.objects.filter(campaign=self.campaign, drawn_share__isnull=False):
            answers = sorted((j for j in usual if task_of[j.assignment_id] == task.pk), key=lambda j: j.pk)
            message: dict[int, str] = {}
            for j in answers:
                if j.worker.kind == Worker.PERSON:
                    message.setdefault(j.worker_id, j.answer)
            if answers and not message:
                continue
            drawn[task.kind] += 1
            if len(message) > 1:
                (item, first), (two, second), *_ = message.items()
                assert task.drawn_share is not None
                pairs[task.kind].append(AnswerPair(first, second, task.drawn_share, (item, two)))
        return {kind: (number, pairs[kind]) for kind, number in drawn.items()}

    def wrong_items(self) -> list[str]:
        """Return active control items that are based on this campaign's answers and that these do not
        support."""
        result = []
        for item in Control.objects.filter(active=True, campaign=self.campaign, source="promoted"):
            (image,) = [i for i in self.images if i.row.image_id == item.image_id]
            votes = [
                j
                for j in self.judgments
                if j.image_id == image.row.pk and j.key == item.key and not j.withdrawn
            ]
            used = [j for j in votes if j.role == q.VOTE and j.name not in image.state.superseded]
            if not used or {j.answer for j in votes} != {item.known}:
                result.append(f"{item}: {[j.answer for j in votes]}, {len(used)} used")
        return result


def pay_of(campaign: Campaign) -> Any:
    return settings_of(campaign.settings).pay
