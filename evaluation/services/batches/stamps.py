"""What a batch's figures are made from, as one word: while it is the same, so are they.

Its campaign and those of the batches before it, whose answers it takes as well: their states and settings,
who may count, what is withdrawn, and what was collected, and how often: the same may be collected twice.
Runs, and judgments from files, never change.

What ended a batch in rounds is made from less, the answers alone (`answers_at_end`): a campaign that is
paused or closed changes nothing about the order of the systems.
"""

import hashlib
import json
from typing import Any

from annotation.protocol.campaign_settings import settings_of
from annotation.selectors.pair_judgments import (
    answers_used,
    judges,
    newest_change,
    newest_judgment,
    what_counts,
)
from evaluation.models import Batch


def counted_by_name(batch: Batch) -> list[str]:
    """The judges of a batch whose answers from before they were reinstated its newest judgments hold."""
    return [] if batch.judgments is None else list(batch.judgments.counted.get(batch.name, []))


def earlier(corpus: str, tasks: str, *, simulated: bool, until: Batch | None = None) -> list[Batch]:
    """The batches of a corpus that ask the same, oldest first; `until` is the last of them.

    Answers of simulated workers are never mixed with people's: their batches are among these only for one
    that is `simulated` itself.
    """
    batches = Batch.objects.filter(corpus__name=corpus, campaign__tasks=tasks).select_related(
        "campaign__corpus", "judgments"
    )
    if not simulated:
        batches = batches.filter(campaign__simulated=False)
    return list((batches.filter(pk__lte=until.pk) if until is not None else batches).order_by("pk"))


#: Raised where what figures mean changes.
_DEFINITION = 1
_OF_BATCH = ("pk", "judgments", "judgments__counted", "collections", "numbers", "rounds")
_OF_CAMPAIGN = ("campaign", "campaign__state", "campaign__revision", "campaign__settings_version")


def batch_stamp(batch: Batch, *, answers: bool) -> str:
    """SHA-256 in hexadecimal over what figures of the batch are made from.

    With `answers` it changes with every answer; without, with all else that changes who and what counts.
    """
    batches = Batch.objects.filter(
        corpus=batch.corpus_id, campaign__tasks=batch.campaign.tasks, pk__lte=batch.pk
    )
    rows = list(batches.order_by("pk").values_list(*_OF_CAMPAIGN, *_OF_BATCH))
    read = [_DEFINITION, rows, what_counts([campaign for campaign, *_ in rows], answers=answers)]
    return hashlib.sha256(json.dumps(read, default=str).encode()).hexdigest()


def answers_at_end(batch: Batch) -> dict[str, Any]:
    """The answers that a batch in rounds ends by, as its `rounds` keep them: the newest, all as one word, and
    the newest change of an answer in each campaign.

    Read before the answers themselves: what changes meanwhile is found later.
    """
    newest = newest_judgment()
    changes = _newest_changes(batch, newest)
    return {"newest": newest, "digest": _digest_of_answers(batch, newest), "changes": changes}


def is_ending_outdated(batch: Batch) -> bool:
    """Whether a batch in rounds has ended by answers that do not all count now, or that are not all: some
    were withdrawn, restored, replaced, or changed by those who gave them.

    Answers that came since to other batches end nothing.
    """
    if not batch.rounds.get("ended"):
        return False
    stamp = batch.rounds["answers"]
    if _digest_of_answers(batch, stamp["newest"]) != stamp["digest"]:
        return True
    return bool(_newest_changes(batch, stamp["newest"]) != stamp["changes"])


def _newest_changes(batch: Batch, newest: int) -> list[int]:
    """The newest change of an answer in the batch's campaign, and in those before it, of answers up to
    judgment `newest`."""
    simulated = batch.campaign.simulated
    rows = earlier(batch.corpus.name, batch.campaign.tasks, simulated=simulated, until=batch)
    return [newest_change(row.campaign, until=None if row.pk == batch.pk else newest) for row in rows]


def _digest_of_answers(batch: Batch, newest: int) -> str:
    """SHA-256 over which answers the order of the systems is made from: all of the batch, and those that the
    batches before it had when judgment `newest` was given."""
    read = []
    simulated = batch.campaign.simulated
    for earlier_batch in earlier(batch.corpus.name, batch.campaign.tasks, simulated=simulated, until=batch):
        trust = settings_of(earlier_batch.campaign.settings).trust
        people = judges(earlier_batch.campaign, trust, counted=counted_by_name(earlier_batch))
        until = None if earlier_batch.pk == batch.pk else newest
        read.append([earlier_batch.pk, answers_used(earlier_batch.campaign, people, until=until)])
    return hashlib.sha256(json.dumps(read).encode()).hexdigest()
