"""The active model annotator: which one it is, what it would draw in an image, and earlier drawings there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import Q

from annotation.models import (
    Campaign,
    Judgment,
    ModelAnnotator,
    ModelProposals,
    OpenImage,
    TrustState,
    Worker,
)
from annotation.protocol.model_annotators import Proposals, ProposedBox
from annotation.protocol.questions import VOTE
from annotation.protocol.terms import Box
from annotation.selectors.model_annotators.boxes import box_verdicts, drawing_kinds


def model_at_work(campaign: int) -> ModelAnnotator | None:
    """Return the newest model annotator of a campaign (by id); None if there is none, or if somebody
    suspended it for drawing or withdrew its boxes. An older one does not replace it."""
    model_annotators = ModelAnnotator.objects.filter(campaign=campaign).select_related("worker", "campaign")
    newest = model_annotators.order_by("-pk").first()
    if newest is None:
        return None
    off = TrustState.objects.filter(
        Q(blocked=True) | Q(withdrawn_at__isnull=False),
        campaign=campaign,
        worker=newest.worker_id,
        kind__in=drawing_kinds(newest.campaign),
    )
    return None if off.exists() else newest


def proposals_from(boxes: Mapping[str, Sequence[Sequence[float]]]) -> Proposals:
    """Return proposals from their stored form."""
    return {
        phrase: [ProposedBox(Box(*map(int, corners)), chance) for *corners, chance in numbers]
        for phrase, numbers in boxes.items()
    }


def stored_proposals(annotator: ModelAnnotator) -> Iterator[tuple[str, Proposals]]:
    """Yield (key of the image, the model annotator's proposals), in the images' order."""
    rows = ModelProposals.objects.filter(model_annotator=annotator, version=annotator.version).order_by(
        "image__position"
    )
    for key, boxes in rows.values_list("image__image__key", "boxes").iterator():
        yield key, proposals_from(boxes)


def picture_sizes(campaign: Campaign) -> dict[str, tuple[int, int]]:
    """Return width and height of the picture by key of each image of a campaign, 0 if unknown."""
    rows = OpenImage.objects.filter(campaign=campaign)
    return {
        key: (wide, high)
        for key, wide, high in rows.values_list("image__key", "image__width", "image__height")
    }


class DrawingAnswer(NamedTuple):
    """A vote on a drawing question: the question's key, the mentions of its chain, the box if one was drawn
    and whether people accepted it (None: no verdict yet), whether a model annotator gave it, and whether it
    reports a problem."""

    key: str
    mentions: frozenset[str]
    box: Box | None
    accepted: bool | None
    by_model: bool
    reported: bool


def drawing_answers(campaign: Campaign, image: OpenImage) -> list[DrawingAnswer]:
    """Return the answers of people and model annotators to the drawing questions of an image."""
    rows = Judgment.objects.filter(image=image, kind__in=drawing_kinds(campaign), role=VOTE, withdrawn=False)
    columns: Any = rows.values_list("name", "key", "worker__kind", "flag", "xmin", "ymin", "xmax", "ymax")
    verdicts = box_verdicts(campaign, [image.pk])
    return [
        DrawingAnswer(
            key,
            frozenset(key.split("|")[1].split()),
            Box(*corners) if None not in corners else None,
            verdicts.get((image.pk, name)),
            kind == Worker.MODEL,
            bool(flag),
        )
        for name, key, kind, flag, *corners in columns
    ]
