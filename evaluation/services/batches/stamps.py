"""What a batch's figures are made from, as one word: while it is the same, so are they.

Its campaign and those of the batches before it, whose answers it takes as well: their states and settings,
who may count, what is withdrawn, and what was collected. Runs, and judgments from files, never change.
"""

from __future__ import annotations

import hashlib
import json

from annotation.selectors.pair_judgments import what_counts
from evaluation.models import Batch

_OF_BATCH = ("pk", "judgments", "judgments__counted", "numbers", "waves")
_OF_CAMPAIGN = ("campaign", "campaign__state", "campaign__revision", "campaign__settings_version")


def batch_stamp(batch: Batch, *, answers: bool) -> str:
    """SHA-256 in hexadecimal over what figures of the batch are made from.

    With `answers` it changes with every answer; without, with all else that changes who and what counts.
    """
    batches = Batch.objects.filter(
        corpus=batch.corpus_id, campaign__tasks=batch.campaign.tasks, pk__lte=batch.pk
    )
    rows = list(batches.order_by("pk").values_list(*_OF_CAMPAIGN, *_OF_BATCH))
    read = [rows, what_counts([campaign for campaign, *_ in rows], answers=answers)]
    return hashlib.sha256(json.dumps(read, default=str).encode()).hexdigest()
