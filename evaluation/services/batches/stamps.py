"""One digest of everything a batch's figures are made from: while it is the same, so are the figures.

It covers the batch's campaign and those of earlier batches, whose answers it uses too: their states and
settings, whose answers count, what is withdrawn, and what was collected, and how often, since the same may be
collected twice. Runs, and judgments from files, never change.

What ended a batch in rounds is made from less, the answers alone (`answers_at_end`): pausing or closing a
campaign does not change the order of the systems.
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
    """Return the judges whose answers from before their reinstatement are in the batch's newest judgments."""
    return [] if batch.judgments is None else list(batch.judgments.counted.get(batch.name, []))


def earlier(corpus: str, tasks: str, *, simulated: bool, until: Batch | None = None) -> list[Batch]:
    """Return the batches of a corpus with the same task, oldest first; `until` is the last of them.

    Answers of simulated workers are never mixed with people's: their batches are included only if
    `simulated`.
    """
    batches = Batch.objects.filter(corpus__name=corpus, campaign__tasks=tasks).select_related(
        "campaign__corpus", "judgments"
    )
    if not simulated:
        batches = batches.filter(campaign__simulated=False)
    return list((batches.filter(pk__lte=until.pk) if until is not None else batches).order_by("pk"))


#: Increase this when the meaning of figures changes.
_DEFINITION = 1
_OF_BATCH = ("pk", "judgments", "judgments__counted", "collections", "numbers", "rounds")
_OF_CAMPAIGN = ("campaign", "campaign__state", "campaign__revision", "campaign__settings_version")


def batch_stamp(batch: Batch, *, answers: bool) -> str:
    """Return the SHA-256, in hexadecimal, of what figures of the batch are made from.

    With `answers` it changes with every answer; without, with everything else that changes who and what
    counts.
    """
    batches = Batch.objects.filter(
        corpus=batch.corpus_id, campaign__tasks=batch.campaign.tasks, pk__lte=batch.pk
    )
    rows = list(batches.order_by("pk").values_list(*_OF_CAMPAIGN, *_OF_BATCH))
    read = [_DEFINITION, rows, what_counts([campaign for campaign, *_ in rows], answers=answers)]
    return hashlib.sha256(json.dumps(read, default=str).encode()).hexdigest()


def answers_at_end(batch: Batch) -> dict[str, Any]:
    """Return the answers that end a batch in rounds, as its column `rounds` stores them: the newest one, a
    digest of all, and the newest change of an answer in each campaign.

    Call it before reading the answers themselves, so that changes made meanwhile are noticed later.
    """
    newest = newest_judgment()
    changes = _newest_changes(batch, newest)
    return {"newest": newest, "digest": _digest_of_answers(batch, newest), "changes": changes}


def is_ending_outdated(batch: Batch) -> bool:
    """Whether a batch in rounds ended with answers that have changed since: some were withdrawn, restored,
    replaced, or changed by those who gave them.

    Later answers to other batches do not count as a change.
    """
    if not batch.rounds.get("ended"):
        return False
    stamp = batch.rounds["answers"]
    if _digest_of_answers(batch, stamp["newest"]) != stamp["digest"]:
        return True
    return bool(_newest_changes(batch, stamp["newest"]) != stamp["changes"])


def _newest_changes(batch: Batch, newest: int) -> list[int]:
    """Return the newest change of an answer in the batch's campaign, and in each earlier one of answers up to
    judgment `newest`."""
    simulated = batch.campaign.simulated
    rows = earlier(batch.corpus.name, batch.campaign.tasks, simulated=simulated, until=batch)
    return [newest_change(row.campaign, until=None if row.pk == batch.pk else newest) for row in rows]


def _digest_of_answers(batch: Batch, newest: int) -> str:
    """Return the SHA-256 of the answers that decide the order of the systems: all answers of the batch, and
    those of earlier batches up to judgment `newest`."""
    read = []
    simulated = batch.campaign.simulated
    for earlier_batch in earlier(batch.corpus.name, batch.campaign.tasks, simulated=simulated, until=batch):
        trust = settings_of(earlier_batch.campaign.settings).trust
        people = judges(earlier_batch.campaign, trust, counted=counted_by_name(earlier_batch))
        until = None if earlier_batch.pk == batch.pk else newest
        read.append([earlier_batch.pk, answers_used(earlier_batch.campaign, people, until=until)])
    return hashlib.sha256(json.dumps(read).encode()).hexdigest()
