"""Retire and name control items that later rulings and withdrawals contradict.

Promoted items depend on votes of their own campaign, items from a campaign's layer on that campaign's images.
Copies of promoted items in a duplicated campaign depend on nothing there, and are not checked. Rulings,
withdrawals and merges of workers change both. Each of them locks the campaign (`lock_campaigns`), so that no
items are made meanwhile, and then checks the items of the images concerned (`retire_contradicted_items`).
"""

from collections.abc import Iterable
from itertools import groupby

from django.db.models import Q

from annotation.datasets.layer_rows import own_layers
from annotation.models import Account, Campaign, Control, Judgment, OpenImage
from annotation.moderation.control_items.from_answers import PROMOTED_SOURCE as PROMOTED
from annotation.moderation.control_items.from_answers import consumed
from annotation.moderation.control_items.from_layer import clear, gold_answer
from annotation.protocol.contents import question_from
from annotation.protocol.gold import Truth
from annotation.protocol.image import may_be_asked_again
from annotation.protocol.state import ImageState
from annotation.quality.controls.authoring import retire_control_items
from annotation.quality.controls.items import ControlItemName, gold_answer_json
from annotation.queue.image_state import state_of


def lock_campaigns(campaigns: Iterable[int]) -> None:
    """Lock campaigns (ids), so that nobody makes control items from their answers. Call before any image is
    locked."""
    rows = Campaign.objects.select_for_update(no_key=True).filter(pk__in=set(campaigns)).order_by("pk")
    list(rows.values_list("pk", flat=True))


def retire_contradicted_items(
    images: Iterable[int], *, actor: Account | None = None, because: str = ""
) -> list[Control]:
    """Retire and return the active items that are based on these open images (ids) and that these no longer
    support.

    `because` as in `retire_control_items`. Call within the act's transaction, which locks the campaign.
    """
    controls: list[Control] = []
    rows = OpenImage.objects.filter(pk__in=list(images)).select_related("campaign", "image").order_by("pk")
    for row in rows:
        promoted = Q(campaign=row.campaign_id, source=PROMOTED)
        resting = Control.objects.filter(promoted | Q(layer__in=own_layers(row.campaign)), image=row.image_id)
        items = list(resting.filter(active=True).select_related("campaign", "image").order_by("pk"))
        if items:
            state = state_of(row)
            controls += [item for item in items if not _borne_out(item, row, state)]
    controls.sort(key=lambda item: (item.campaign_id, item.pk))
    for campaign, of_campaign in groupby(controls, key=lambda item: item.campaign):
        ids = [item.pk for item in of_campaign]
        retire_control_items(campaign=campaign, controls=ids, actor=actor, because=because)
    return controls


def names_of_items(items: Iterable[Control]) -> list[ControlItemName]:
    """Return the names of items."""
    return [ControlItemName(item.kind, item.image.key, item.stratum) for item in items]


def _borne_out(item: Control, row: OpenImage, state: ImageState) -> bool:
    if item.source == PROMOTED:
        answers = Judgment.objects.filter(image=row, key=item.key, withdrawn=False)
        alike = set(answers.values_list("answer", flat=True)) == {item.known}
        return alike and consumed(row.pk, item.key, state) and not may_be_asked_again(item.key, state)
    if not state.complete:
        return False
    truth = Truth(state.layer, size=(row.image.width, row.image.height))
    question = question_from(item.kind, item.key, item.content)
    if not truth.mentions.keys() >= set(question.mentions) or not clear(question, truth):
        return False
    return bool(gold_answer_json(gold_answer(question, truth)) == item.known)
