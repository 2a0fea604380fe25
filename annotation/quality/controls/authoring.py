"""Add control items to a campaign, and retire them.

Items of any source (gold, a file, a page, agreement, the product) are written here, all or none: checked
against image and captions, each question once per purpose, the campaign's revision raised so that every
process reads them again, with a line in the audit log.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import F

from annotation.audit import record
from annotation.common import database
from annotation.models import Account, Campaign, Control, Image, Layer
from annotation.protocol.kinds import BadItem, kind_of
from annotation.quality.controls.counted import CountedControlItem, counted_row
from annotation.quality.controls.items import ControlItem, ControlItemName, Images, control_row
from phrasebox.errors import PhraseboxError


class BadItems(PhraseboxError):
    """Invalid control items; nothing was stored. One line for each, with its number."""

    def __init__(self, problems: Sequence[tuple[int, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"line {number}: {problem}" for number, problem in self.problems))


@dataclass(frozen=True, slots=True)
class Added:
    """How many control items were added, and how many existed with the same content; `passed_over` names
    those that were skipped: something contradicts their answer, or the image does not ask them any more."""

    added: int
    there: int
    passed_over: tuple[ControlItemName, ...] = ()


def add_control_items(
    *,
    campaign: Campaign,
    items: Iterable[tuple[int, ControlItem | CountedControlItem]],
    source: str,
    actor: Account | None = None,
    problems: Iterable[tuple[int, str]] = (),
    layer: Layer | None = None,
) -> Added:
    """Add control items, each with its number (of a line, from 1) for messages.

    Existing items are unchanged; retired ones are reactivated. `layer` is the source of their answers: an
    existing item with another answer, because the layer has changed, is skipped. Raises BadItems, with every
    invalid one and the earlier `problems`, in their order; nothing is stored then.
    """
    items_to_add = list(items)
    with database.writing():
        # One at a time: of two who add the same question, the second finds it.
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        images = Images(campaign.corpus_id, (item.image for _, item in items_to_add))
        existing = {
            (row.purpose, row.image_id, row.key): row
            for row in Control.objects.filter(campaign=campaign, image__in=images.words)
        }
        problems_read = list(problems)
        fresh: dict[tuple[str, int, str], Control] = {}
        back: list[Control] = []
        passed_over: list[ControlItemName] = []
        for number, item in items_to_add:
            try:
                if isinstance(item, CountedControlItem):
                    row = counted_row(item, campaign=campaign, images=images)
                else:
                    row = control_row(item, campaign=campaign, images=images)
                row.source, row.created_by, row.layer = source, actor, layer
                name = (row.purpose, row.image_id, row.key)
                same_name = existing.get(name) or fresh.get(name)
                if same_name is None:
                    fresh[name] = row
                elif same_name.known != row.known and layer is not None:
                    passed_over.append(ControlItemName(item.kind, item.image, row.stratum))
                elif same_name.known != row.known:
                    raise BadItem(
                        f"this question about image {item.image!r} is already a {item.purpose} item with "
                        f"the gold answer {same_name.known!r}; ask another one"
                    )
                elif not same_name.active:
                    back.append(same_name)
            except BadItem as error:
                problems_read.append((number, str(error)))
        if problems_read:
            raise BadItems(sorted(problems_read))
        Control.objects.bulk_create(fresh.values(), batch_size=500)
        Control.objects.filter(pk__in=[row.pk for row in back]).update(active=True)
        changed = len(fresh) + len(back)
        if changed:
            raise_revision(campaign)
            record(actor=actor, act="add_control_items", campaign=campaign, source=source, items=changed)
    return Added(changed, len(items_to_add) - changed - len(passed_over), tuple(passed_over))


def retire_control_items(
    *, campaign: Campaign, controls: Sequence[int], actor: Account | None = None, because: str = ""
) -> int:
    """Retire control items (ids of their rows); answers given on them keep counting.

    `because` is the act that caused it, if nobody with an account did. Return how many were active.
    """
    with database.writing():
        rows = Control.objects.filter(campaign=campaign, pk__in=controls, active=True)
        retired = rows.update(active=False)
        if retired:
            raise_revision(campaign)
            why = {"because": because} if because else {}
            record(
                actor=actor,
                act="retire_control_items",
                campaign=campaign,
                items=retired,
                ids=list(controls),
                **why,
            )
    return retired


def raise_revision(campaign: Campaign) -> None:
    """Invalidate every process's caches of the campaign. Call within the act's transaction."""
    Campaign.objects.filter(pk=campaign.pk).update(revision=F("revision") + 1)
    campaign.refresh_from_db(fields=["revision"])


def install_sentences(*, campaign: Campaign, kind: str, actor: Account | None = None) -> Added | None:
    """Add the sentences of `kind` to the campaign's test, under its first image; existing ones stay.

    Return None if the kind has no sentences.
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
