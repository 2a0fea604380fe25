"""A machine's turn: the open questions of an image that it has an answer to, leased and submitted one by one.

It takes its turn as soon as an answer of a person has opened such a question, once that is committed, and
again with the periodic jobs. Nothing is kept for it: a question that a person takes first is theirs.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator
from typing import Any

from annotation.models import Campaign, Machine, MachineProposals, OpenImage, Task
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.contents import mention_from, question_from
from annotation.protocol.machines import MachineSettings, categories_left, machine_trust, next_proposal
from annotation.protocol.questions import VOTE, Answer, BadJudgment
from annotation.protocol.terms import Chain
from annotation.queue.leases import Lease, return_lease, take_machine_lease
from annotation.selectors.machines import drawing_kinds, judged_boxes, machine_at_work, proposals_from

_log = logging.getLogger(__name__)

#: Stores an answer, as `submission.submit` does.
Submit = Callable[..., Any]
#: Open images looked at in one round.
IMAGES_PER_ROUND = 500


def take_turn(image: int, submit: Submit) -> int:
    """Answer what the campaign's machine can answer about an open image (its row's id); how many answers."""
    row = OpenImage.objects.select_related("campaign", "image").get(pk=image)
    machine = machine_at_work(row.campaign_id)
    return 0 if machine is None else _turn(row, machine, submit)


def take_turns(campaign: Campaign, submit: Submit, *, at_most: int = IMAGES_PER_ROUND) -> int:
    """The same for the campaign's open images that wait for it, at most so many; how many answers."""
    machine = machine_at_work(campaign.pk)
    if machine is None or not settings_of(campaign.settings).machine.share:
        return 0
    open_tasks = Task.objects.filter(
        campaign=campaign, kind__in=drawing_kinds(campaign), state=Task.OPEN, role=VOTE, live=0
    )
    waiting = OpenImage.objects.filter(
        campaign=campaign,
        complete=False,
        pk__in=open_tasks.values("image"),
        proposals__machine=machine,
        proposals__version__lte=machine.version,
    )
    # What changed last comes first: what it was not sure of before, it is not sure of now.
    rows = waiting.select_related("campaign", "image").order_by("-changed_at")[:at_most]
    return sum(_turn(row, machine, submit) for row in rows)


def _turn(row: OpenImage, machine: Machine, submit: Submit) -> int:
    settings = settings_of(row.campaign.settings).machine
    if not settings.takes(row.image.key, seed=row.campaign.seed):
        return 0
    # Proposals of a later version are of a lesson that is not over.
    stored = MachineProposals.objects.filter(machine=machine, image=row, version__lte=machine.version).first()
    if stored is None:
        return 0
    count = 0
    for task, answer in _answers(row, machine, stored, settings):
        lease = take_machine_lease(
            worker=machine.worker_id, campaign=row.campaign, kind=task.kind, task=task.pk
        )
        if not isinstance(lease, Lease):
            continue
        try:
            submit(
                worker=machine.worker_id,
                assignment=lease.id,
                answer=answer,
                token=secrets.token_hex(16),
                seconds=0.0,
                then=False,
            )
            count += 1
        except BadJudgment as error:
            # Such a box was stored before the picture's size was known: people draw.
            _log.warning("machine %s, image %s: %s", machine.name, row.image.key, error)
            return_lease(worker=machine.worker_id, assignment=lease.id)
    return count


def _answers(
    row: OpenImage, machine: Machine, stored: MachineProposals, settings: MachineSettings
) -> Iterator[tuple[Task, Answer]]:
    """The open tasks about an image that the machine has an answer to, each with it."""
    tasks = Task.objects.filter(
        image=row, kind__in=drawing_kinds(row.campaign), state=Task.OPEN, role=VOTE, live=0
    )
    mentions = {one.id: one for one in map(mention_from, row.mentions)}
    proposals = proposals_from(stored.boxes)
    left: frozenset[str] | None = None
    for task in tasks.exclude(assignments__worker=machine.worker_id).order_by("pk"):
        content = task.items.get(position=0).content
        question = question_from(task.kind, task.key, content)
        of_chain = tuple(mentions[name] for name in question.mentions)
        found = next_proposal(proposals, of_chain, question.boxes, least_chance=settings.least_chance)
        if found is None:
            continue
        if left is None:
            left = _left(machine, task.kind)
        if left.isdisjoint(Chain("", of_chain).categories):
            about = {"chance": round(found.chance, 3), "version": stored.version}
            yield task, Answer("drawn", found.box, content=about)


def _left(machine: Machine, kind: str) -> frozenset[str]:
    """The categories that people draw again."""
    judged = [
        (box.categories, box.good)
        for box in judged_boxes(machine, since=machine.version)
        if box.good is not None
    ]
    settings = settings_of(machine.campaign.settings)
    return categories_left(judged, kind=kind, settings=machine_trust(settings.trust, settings.machine))
