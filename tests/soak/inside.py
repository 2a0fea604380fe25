"""Actions with the product's own code, in its environment: accounts, and the recount at the end.

    python -m tests.soak.inside enrol --workers 64 --sessions 16 --out FILE
    python -m tests.soak.inside recount --out FILE

`recount` compares the queue's stored state with what follows from the answers: every image's fold, tasks and
moves, every standing, every layer. Nobody may work at the same time. Each count should be 0.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
from collections import Counter
from pathlib import Path
from typing import Any

import django


def enrol(workers: int, sessions: int) -> dict[str, Any]:
    """Create `workers` annotators with tokens (the first `sessions` with a password), and staff."""
    from django.contrib.auth.hashers import make_password
    from django.db import transaction

    from annotation.models import Account, Identity, RoleGrant, Worker
    from annotation.workers.accounts import worker_tokens

    password = secrets.token_urlsafe(16)
    hashed = make_password(password)
    people = []
    with transaction.atomic():
        for number in range(workers):
            name = f"soak-{number:03d}"
            account = Account.objects.create(username=name, password=hashed)
            RoleGrant.objects.create(account=account, role="annotator")
            worker = Worker.objects.create(pseudonym=name)
            Identity.objects.create(worker=worker, account=account)
            token = "" if number < sessions else worker_tokens.make_worker_token(account)
            people.append({"name": name, "token": token})
        Account.objects.create(username="staff", password=hashed, is_superuser=True, is_staff=True)
        RoleGrant.objects.create(account=Account.objects.get(username="staff"), role="admin")
    return {"people": people, "staff": "staff", "password": password}


def recount() -> dict[str, Any]:
    """Return the differences by kind, and the number of objects compared."""
    from annotation.datasets import layer_rows
    from annotation.models import Campaign, OpenImage, TrustState
    from annotation.moderation import trust_replay
    from annotation.protocol.questions import QUESTIONS
    from annotation.quality import worker_trust
    from annotation.simulation_driver.soundness import violations

    amiss: Counter[str] = Counter()
    looked: Counter[str] = Counter()
    examples: list[str] = []

    def no(what: str, which: object) -> None:
        amiss[what] += 1
        if len(examples) < 10:
            examples.append(f"{what}: {which}")

    for campaign in Campaign.objects.exclude(state=Campaign.DRAFT).select_related("corpus").order_by("pk"):
        for what, number in violations(campaign).items():
            # Late answers after a step of the clock look as if they were in time; `check` handles them.
            if what != "tasks given to more workers than they want" and number:
                amiss[what] += number
                examples.append(f"{campaign.name}: {what}: {number}")
        for row in OpenImage.objects.filter(campaign=campaign).select_related("image").order_by("position"):
            looked["images"] += 1
            for what in image_faults(row):
                no(what, f"{campaign.name}, image {row.image.key}")
        for trust_state in TrustState.objects.filter(campaign=campaign).select_related("campaign"):
            looked["trust_states"] += 1
            if trust_replay.replay_row(trust_state) != worker_trust.trust_from_row(trust_state):
                no("standings that their events do not lead to", trust_state.pk)
        if campaign.kinds == QUESTIONS:
            # Nobody has worked for minutes: the periodic jobs should have left nothing.
            looked["images that the layer lagged behind"] += layer_rows.refresh_layer_rows(campaign)
            for key in layer_faults(campaign):
                no("images whose layer is not the replay's", f"{campaign.name}, {key}")
            looked["layers"] += 1
    return {"amiss": dict(amiss), "looked": dict(looked), "examples": examples}


def image_faults(row: Any) -> list[str]:
    """Return the differences between the stored state of an open image and a fold of its judgments."""
    from annotation.models import Assignment, Task
    from annotation.protocol import questions as q
    from annotation.protocol.boxes import REVIEW
    from annotation.queue import image_state

    state = image_state.state_of(row)
    faults = []
    if row.complete != state.complete:
        faults.append("images whose completeness is miscounted")
    if row.in_review != sum(chain.stage == REVIEW for chain in state.chains):
        faults.append("images whose chains in review are miscounted")
    if row.state["chains"] != json.loads(json.dumps([image_state.chain_of(chain) for chain in state.chains])):
        faults.append("images whose chains are not the replay's")
    steps = sorted(
        (" ".join(m.id for m in chain.mentions), number, move.stage, move.outcome, move.next)
        for chain in state.chains
        for number, move in enumerate(chain.moves)
    )
    moves = row.moves.filter(undone_at=None).values_list("chain", "number", "stage", "outcome", "next")
    if sorted(moves) != steps:
        faults.append("images whose moves are not the replay's")
    questions = {question.key: question for question in state.questions}
    tasks = {task.key: task for task in row.tasks.all()}
    if not questions.keys() <= tasks.keys():
        faults.append("images without a task for an open question")
    for key, task in tasks.items():
        votes = row.judgments.filter(key=key, role=q.VOTE, withdrawn=False).count()
        if key not in questions:
            right = task.role == q.DOUBLE_CHECK if task.state == Task.OPEN else True
            if not right:
                faults.append("tasks that are open without a question")
            continue
        held = task.assignments.filter(state=Assignment.LEASED).count()
        if task.state != Task.OPEN or task.live != votes + held:
            faults.append("open tasks that miscount")
        elif task.needed != max(votes + questions[key].needed, votes + held):
            faults.append("open tasks that want another number")
    return faults


def layer_faults(campaign: Any) -> list[str]:
    """Return images whose record in the campaign's layer differs from the fold of their answers."""
    from annotation.models import OpenImage
    from annotation.protocol.terms import renamed
    from annotation.queue import image_state
    from annotation.selectors.records import stream_records

    layer = campaign.corpus.layers.filter(name=campaign.name).first()
    if layer is None:
        return []
    layers = {record.id: record.layer for record in stream_records(corpus=campaign.corpus, layer=layer)}
    faults = []
    for row in OpenImage.objects.filter(campaign=campaign, version__gt=0).select_related("image"):
        result, reported = layers.get(row.image.key), image_state.state_of(row).layer
        if result is None or by_first(renamed, result) != by_first(renamed, reported):
            faults.append(row.image.key)
    return faults


def by_first(renamed: Any, layer: Any) -> Any:
    """Return a layer with each chain named after its first mention."""
    return renamed(layer, {chain.id: chain.mentions[0].id for chain in layer.chains})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["enrol", "recount"])
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--sessions", type=int, default=16)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    done = enrol(options.workers, options.sessions) if options.what == "enrol" else recount()
    options.out.write_text(json.dumps(done))


if __name__ == "__main__":
    main()
