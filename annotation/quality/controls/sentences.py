"""Tests whose sentences come with the product: entered among a campaign's items when it begins."""

from annotation.models import Account, Campaign, Control, Image
from annotation.protocol.kinds import kind_of
from annotation.quality.controls.authoring import Added, add_control_items
from annotation.quality.controls.counted import CountedControlItem


def install_sentences(*, campaign: Campaign, kind: str, actor: Account | None = None) -> Added | None:
    """Add the sentences of `kind` to the campaign's test, under its first image; those that are there stay.

    None where no sentences come with the kind.
    """
    sentences = kind_of(kind).test_sentences
    if sentences is None:
        return None
    image = Image.objects.filter(corpus=campaign.corpus).order_by("position").values_list("key", flat=True)
    items = [
        CountedControlItem(
            kind,
            Control.QUALIFICATION,
            image[0],
            item.known,
            sentence=item.sentence,
            explanation=item.explanation,
        )
        for item in sentences()
    ]
    return add_control_items(campaign=campaign, items=enumerate(items, 1), source="page", actor=actor)
