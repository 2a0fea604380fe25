"""A reviewer's acts: make a ruling about an image, withdraw one, handle a report. The only writer of rulings.

A ruling is an assertion about mentions (`protocol.rulings`), and the image is computed again with it in the
same transaction: questions that it covers are closed, others may open. A ruling that would have no effect,
because it names mentions or a chain that the image does not have, is rejected. Withdrawing it folds the image
without it; nothing is ever deleted.

To undo a merge, rule that the two merged chains are kept apart.

Rulings on phrases and captions change the image's mentions (`protocol.rulings.mended`): what rests on a
changed phrase is asked again, all other answers count as before.

Control items that a ruling contradicts are retired with it.

Locks: the campaign, then the image, before its rulings are read.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.db.models import F
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.models import Account, Campaign, Caption, Control, Flag, Image, OpenImage
from annotation.models import Ruling as Row
from annotation.moderation import control_items
from annotation.protocol.boxes import REVIEW
from annotation.protocol.contents import corners, mention_from, mention_json, ruling_from, ruling_json
from annotation.protocol.rulings import (
    Boxes,
    Closure,
    KeepApart,
    Partition,
    Phrases,
    Resume,
    Ruling,
    UnrelatedCaption,
    mended,
)
from annotation.protocol.state import LINKING, ImageState
from annotation.protocol.terms import Box, Mention, mention_id
from annotation.queue import image_state
from phrasebox.errors import PhraseboxError


class CannotRule(PhraseboxError):
    """A ruling that cannot be made or withdrawn; one line with the remedy."""


class Changed(CannotRule):
    """The image differs from what the reviewer saw."""


@dataclass(frozen=True, slots=True)
class Ruled:
    """A ruling that was made or withdrawn, the new state of the image, and the control items retired for
    it."""

    ruling: Row
    state: ImageState
    retired: Sequence[Control] = ()


def make_ruling(
    *,
    image: int,
    ruling: Ruling,
    comment: str = "",
    actor: Account | None = None,
    seen: Collection[Sequence[str]] = (),
) -> Ruled:
    """Make a ruling about an open image (the id of an OpenImage) and compute it again.

    `seen` are the chains, as mention ids, that the reviewer saw. Raises Changed if these are not there, and
    CannotRule if the ruling names anything that the image does not have.
    """
    with database.writing():
        control_items.lock_campaigns(OpenImage.objects.filter(pk=image).values_list("campaign", flat=True))
        row = locked_for_ruling(image)
        chains = {frozenset(chain["m"]): chain["s"] for chain in row.state["chains"]}
        if any(frozenset(chain) not in chains for chain in seen):
            raise Changed(_("The image has changed in the meantime: look at it again, then decide."))
        _check(row, ruling, chains)
        created = Row.objects.create(image=row, content=ruling_json(ruling), comment=comment, made_by=actor)
        state = _folded(row, ruling)
        record(
            actor=actor,
            act="rule",
            campaign=row.campaign,
            image=row.image.key,
            ruling=created.pk,
            content=created.content,
        )
        retired = control_items.retire_contradicted_items([row.pk], actor=actor)
    return Ruled(created, state, retired)


def withdraw_ruling(*, campaign: Campaign, ruling: int, actor: Account | None = None) -> Ruled:
    """Withdraw a ruling (by its row's id) and fold its image without it. Raises CannotRule."""
    with database.writing():
        of = Row.objects.filter(pk=ruling, image__campaign=campaign).values_list("image", flat=True).first()
        if of is None:
            raise CannotRule(
                _("There is no ruling %(id)s in campaign %(campaign)s.")
                % {"id": ruling, "campaign": campaign.name}
            )
        control_items.lock_campaigns([campaign.pk])
        row = locked_for_ruling(of)
        ruling_row = Row.objects.get(pk=ruling)
        if ruling_row.withdrawn_at is not None:
            raise CannotRule(_("Ruling %(id)s is already withdrawn.") % {"id": ruling})
        ruling_row.withdrawn_by, ruling_row.withdrawn_at = actor, database.now()
        ruling_row.save(update_fields=["withdrawn_by", "withdrawn_at"])
        state = _folded(row, ruling_from(ruling_row.content))
        record(actor=actor, act="withdraw_ruling", campaign=campaign, image=row.image.key, ruling=ruling)
        retired = control_items.retire_contradicted_items([row.pk], actor=actor)
    return Ruled(ruling_row, state, retired)


def resolve_flag(*, campaign: Campaign, flag: int, actor: Account | None = None) -> bool:
    """Mark a worker's report as handled; return whether it was open. Raises CannotRule."""
    with database.writing():
        flags = Flag.objects.filter(pk=flag, judgment__campaign=campaign)
        if not flags.exists():
            raise CannotRule(
                _("There is no report %(id)s in campaign %(campaign)s.")
                % {"id": flag, "campaign": campaign.name}
            )
        news = flags.filter(resolved_at=None).update(resolved_at=database.now(), resolved_by=actor)
        if news:
            record(actor=actor, act="resolve_flag", campaign=campaign, flag=flag)
    return bool(news)


def locked_for_ruling(image: int) -> OpenImage:
    """Return the open image, its row locked until the transaction ends."""
    images = OpenImage.objects.select_related("campaign", "image")
    return images.select_for_update(no_key=True, of=("self",)).get(pk=image)


def _folded(row: OpenImage, changed: Ruling) -> ImageState:
    """Fold the image with the rulings in force, of which one is new or was withdrawn."""
    mends = isinstance(changed, Phrases | UnrelatedCaption)
    if mends:
        _store_mentions(row)
    OpenImage.objects.filter(pk=row.pk).update(rulings_version=F("rulings_version") + 1)
    state = image_state.refold_image(row.pk)
    if mends and state.questions and row.complete and row.campaign.state == Campaign.CLOSED:
        raise CannotRule(
            _("The campaign is closed, so workers cannot be asked what follows from these phrases.")
        )
    return state


def rulings_in_force(row: OpenImage) -> list[Ruling]:
    """Return the rulings on an image that are not withdrawn, in order."""
    stored = row.rulings.filter(withdrawn_at=None).order_by("pk").values_list("content", flat=True)
    return [ruling_from(content) for content in stored]


def opened_mentions(row: OpenImage) -> list[Mention]:
    """Return the mentions with which an image was opened."""
    stored = row.mentions if row.opened_mentions is None else row.opened_mentions
    return [mention_from(fields) for fields in stored]


def _store_mentions(row: OpenImage) -> None:
    """Store the mentions after the rulings in force."""
    opened = opened_mentions(row)
    mentions = mended(opened, rulings_in_force(row))
    check_apart(mentions, opened)
    OpenImage.objects.filter(pk=row.pk).update(
        mentions=[mention_json(mention) for mention in mentions],
        opened_mentions=[mention_json(mention) for mention in opened],
    )


def check_apart(mentions: Sequence[Mention], opened: Collection[Mention]) -> None:
    """Raise CannotRule if two mentions, in caption order, share words and the image was not opened so."""
    before = {mention.id for mention in opened}
    for first, second in pairwise(mentions):
        shared = first.caption == second.caption and second.start < first.end
        if shared and not before.issuperset((first.id, second.id)):
            raise CannotRule(
                _(
                    "“%(first)s” (%(first_id)s) and “%(second)s” (%(second_id)s) would have a word in "
                    "common: remove one of them first."
                )
                % {
                    "first": first.text,
                    "first_id": first.id,
                    "second": second.text,
                    "second_id": second.id,
                }
            )


def _check(row: OpenImage, ruling: Ruling, chains: Mapping[frozenset[str], str]) -> None:
    """Raise CannotRule unless the ruling is valid for this image in its current state."""
    _check_mentions(row, _named(ruling))
    match ruling:
        case Partition(groups):
            if not all(groups) or len(groups) + max(map(len, groups), default=0) < 3:
                raise CannotRule(
                    _("These groups change nothing: name two mentions that belong together, or two groups.")
                )
        case KeepApart(a, b):
            if a == b:
                raise CannotRule(
                    _("A mention cannot be kept apart from itself: name one mention of each chain.")
                )
        case Boxes(mentions, boxes):
            _check_chain(mentions, chains)
            _check_boxes(row.image, boxes)
        case Closure(mentions):
            _check_chain(mentions, chains)
        case Phrases() | UnrelatedCaption():
            check_mend(row, ruling)
        case Resume(mentions):
            _check_chain(mentions, chains)
            if chains[frozenset(mentions)] != REVIEW and not _closed_by_ruling(row, mentions):
                raise CannotRule(
                    _(
                        "This chain is at %(stage)s, not in review: there is nothing to resume. Decide on "
                        "its boxes or its mentions instead."
                    )
                    % {"stage": chains[frozenset(mentions)]}
                )
            if row.campaign.state == Campaign.CLOSED:
                raise CannotRule(
                    _(
                        "The campaign is closed, so workers cannot be asked. Draw the boxes, or close the "
                        "chain."
                    )
                )


def _named(ruling: Ruling) -> list[str]:
    match ruling:
        case Partition(groups):
            return [name for group in groups for name in group]
        case KeepApart(a, b):
            return [a, b]
        case Phrases(removed):
            return list(removed)
        case UnrelatedCaption():
            return []
        case _:
            return list(ruling.mentions)


def _check_mentions(row: OpenImage, named: Sequence[str]) -> None:
    known = {mention_id(*mention[:3]) for mention in row.mentions}
    for name in named:
        if name not in known:
            raise CannotRule(
                _("Image %(image)s has no mention %(name)s; it has: %(known)s.")
                % {
                    "image": row.image.key,
                    "name": name,
                    "known": ", ".join(mention_from(m).id for m in row.mentions) or _("none"),
                }
            )


def check_mend(row: OpenImage, ruling: Ruling) -> None:
    """Raise CannotRule unless a ruling on phrases or captions is valid for the image and changes it."""
    _check_mentions(row, _named(ruling))
    if isinstance(ruling, UnrelatedCaption):
        _check_caption(row, ruling.caption)
        if ruling in rulings_in_force(row):
            raise CannotRule(_("This caption is marked as not describing the picture already."))
    elif isinstance(ruling, Phrases):
        _check_added(row, ruling.added)
        mentions = tuple(map(mention_from, row.mentions))
        if set(mended(mentions, [ruling])) == set(mentions):
            raise CannotRule(_("These phrases are there already: nothing would change."))


def _check_added(row: OpenImage, added: Iterable[Mention]) -> None:
    """Raise CannotRule unless these are words of the image's captions, and their categories exist."""
    for mention in added:
        words = _check_caption(row, mention.caption).words
        if tuple(words[mention.start : mention.end]) != mention.tokens:
            raise CannotRule(
                _("Caption %(number)d has %(n)d words: %(name)s is no phrase of it.")
                % {"number": mention.caption + 1, "n": len(words), "name": mention.id}
            )
        if UnrelatedCaption(mention.caption) in rulings_in_force(row):
            raise CannotRule(
                _(
                    "Caption %(number)d is marked as not describing the picture, so nobody is asked about "
                    "its phrases: withdraw that ruling first."
                )
                % {"number": mention.caption + 1}
            )


def _check_caption(row: OpenImage, number: int) -> Caption:
    """Return a caption (from 0). Raises CannotRule if there is none, or nobody is asked about phrases."""
    if row.questions:
        raise CannotRule(_("This campaign does not ask about phrases."))
    caption = Caption.objects.filter(image=row.image_id, number=number).first()
    if caption is None:
        raise CannotRule(
            _("Image %(image)s has no caption %(n)d.") % {"image": row.image.key, "n": number + 1}
        )
    return caption


def _check_chain(mentions: Sequence[str], chains: Mapping[frozenset[str], str]) -> None:
    """Raise CannotRule unless exactly these mentions are a chain without open links."""
    stage = chains.get(frozenset(mentions))
    if stage is None:
        known = "; ".join(" ".join(sorted(chain)) for chain in chains) or _("none")
        raise CannotRule(
            _("No chain has exactly the mentions %(mentions)s; the chains are: %(known)s.")
            % {"mentions": " ".join(mentions), "known": known}
        )
    if stage == LINKING:
        raise CannotRule(
            _(
                "Workers are still deciding which mentions belong to this chain: settle that first, by "
                "grouping its mentions with those of similar chains."
            )
        )


def _check_boxes(image: Image, boxes: Sequence[Box]) -> None:
    if len(set(boxes)) < len(boxes):
        raise CannotRule(_("A box appears twice; expected each box of the chain once."))
    for box in boxes:
        if image.width and image.height and (box.xmax > image.width or box.ymax > image.height):
            raise CannotRule(
                _("Box %(box)s extends beyond the picture, which has %(width)s x %(height)s pixels.")
                % {"box": ",".join(map(str, corners(box))), "width": image.width, "height": image.height}
            )


def _closed_by_ruling(row: OpenImage, mentions: Sequence[str]) -> bool:
    """Whether a ruling in force closed the chain of exactly these mentions."""
    last = ""
    for content in row.rulings.filter(withdrawn_at=None).order_by("pk").values_list("content", flat=True):
        if frozenset(content.get("mentions", ())) == frozenset(mentions):
            last = content["kind"]
    return last in ("boxes", "closure")
