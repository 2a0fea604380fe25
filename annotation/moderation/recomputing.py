"""Images, boxes and control items after answers stopped counting, or count again.

An answer is withdrawn for up to three reasons: its worker's answers of the kind are (`worker_status`), it is
a person's second answer to a question (`joining`), a reviewer rejected it (`answer_reviews`). An act that
ends one of these reasons does not change the others.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import (
    Account,
    AnswerReview,
    Campaign,
    Control,
    Judgment,
    OpenImage,
    TrustState,
    Worker,
)
from annotation.moderation import trust_replay
from annotation.moderation.control_items import from_answers, retire_contradicted_items
from annotation.protocol.kinds import judging_kinds
from annotation.queue import image_state, task_rows

#: Number of images queried at a time.
CHUNK = 200
#: Answers that stay withdrawn whatever happens to their worker's. A model annotator may have several answers
#: to a question (`model_annotators.model_tries`).
_STAY_WITHDRAWN = Q(assignment__attempt__gt=0) & ~Q(worker__kind=Worker.MODEL)


def released(judgments: QuerySet[Judgment]) -> QuerySet[Judgment]:
    """Return those of these withdrawn answers that have no reason left to be withdrawn."""
    of_answer = {name: OuterRef(name) for name in ("campaign", "worker", "kind")}
    worker_out = TrustState.objects.filter(**of_answer, withdrawn_at__isnull=False)
    rejected = AnswerReview.objects.filter(judgment=OuterRef("pk"), decision=AnswerReview.REJECTED)
    rows = judgments.filter(~Exists(worker_out), ~Exists(rejected), withdrawn=True)
    return rows.exclude(_STAY_WITHDRAWN)


def recompute_image(image: int, *, actor: Account | None = None) -> list[Control]:
    """Compute a locked open image (id) from the answers that count; return the control items that were
    retired, since it no longer supports them."""
    image_state.refold_image(image)
    task_rows.count_checks([image])
    return retire_contradicted_items([image], actor=actor)


def images_with_answers(judgments: QuerySet[Judgment], after: int) -> list[int]:
    """Return the next open images (ids) of these answers, at most CHUNK."""
    rows = judgments.filter(image__gt=after).order_by("image")
    return list(rows.values_list("image", flat=True).distinct()[:CHUNK])


def lock_image(image: int) -> None:
    """Lock an open image; its campaign comes before (`control_items.lock_campaigns`)."""
    OpenImage.objects.select_for_update(no_key=True).get(pk=image)


def promoted_with(campaign: Campaign, judgments: QuerySet[Judgment], kinds: Sequence[str]) -> list[int]:
    """Return the active control items that were promoted with one of these answers."""
    items = Control.objects.filter(
        campaign=campaign, kind__in=kinds, source=from_answers.PROMOTED_SOURCE, active=True
    ).values_list("id", "image", "key")
    return [
        control for control, image, key in items if judgments.filter(image__image=image, key=key).exists()
    ]


def recompute_drawers(campaign: Campaign, judgments: QuerySet[Judgment]) -> int:
    """Recompute the trust states of those whose boxes these answers judged; return how many changed."""
    return sum(
        _recompute_judged(campaign, judgments.filter(kind=judging), judged)
        for judging, judged in judging_kinds()
    )


def _recompute_judged(campaign: Campaign, verdicts: QuerySet[Judgment], judged_kind: str) -> int:
    drawings: dict[int, set[str]] = defaultdict(set)
    for image, key in verdicts.filter(image__isnull=False).values_list("image", "key"):
        drawings[image].add(key.split("|")[1])
    drawers: set[int] = set()
    images = list(drawings)
    for start in range(0, len(images), CHUNK):
        boxes: Any = Judgment.objects.filter(image__in=images[start : start + CHUNK], kind=judged_kind)
        drawers.update(
            drawer
            for image, name, drawer in boxes.values_list("image", "name", "worker")
            if name in drawings[image]
        )
    rows = TrustState.objects.filter(campaign=campaign, worker__in=drawers, kind=judged_kind).order_by("id")
    return len(trust_replay.replay_rows(rows.values_list("id", flat=True)))
