"""Model annotators: what a campaign sets about them, and the rules by which one answers.

A model annotator is a worker. It answers through the same queue and the same fold as people do, and is judged
by the same verdicts. Three things set it apart. It gives only those answers of a kind that people check
afterwards (`Kind.model_answers`: "drawn" to drawing, "yes" to a link). It answers votes alone, since
agreement is told of people. And beside its trust state it has a record per category: below the bar, people
draw again for that category.

Source: the verdicts are those of Plummer et al. 2015, sections 2.2 and 2.3. That verifying a box costs people
a tenth of drawing it: Papadopoulos et al. 2016. Every number is decided here.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, NamedTuple

from pydantic import Field

from annotation.protocol.boxes import BoxLimits
from annotation.protocol.controls import Seed, draw_number
from annotation.protocol.likely_count import likely_count
from annotation.protocol.setting_types import Fraction, StorableText, WholeFromOne, WholeNumber
from annotation.protocol.terms import Box, Chain, Mention, representative
from annotation.protocol.trust_settings import TrustSettings
from annotation.protocol.words import gettext_noop as _
from models_core.checked_fields import CheckedRecord

#: A proposal that overlaps an accepted box by so much (IoU) shows the same thing: an accepted box stands for
#: a gold box from there on (`gold.COVERS`).
SAME_THING = 0.5
#: A proposal that overlaps a refused box by so much (IoU) would be refused again: verdicts ask for as much.
SAME_BOX = 0.7
#: A proposal that overlaps a box of `boxes_of_others` by so much (IoU) means that box.
_SHARED_BOX = 0.4
#: Further images are opened once so small a share of `ModelAnnotatorSettings.images_at_once` is unfinished:
#: people have something to do meanwhile.
_STILL_UNFINISHED = 0.25
#: A model annotator learns again from so many more images at least, as a share of those that it learned from
#: last: the more it has seen, the less a few more change.
_FURTHER_SHARE = 0.25
#: Proposals of one phrase that are kept.
MOST_PROPOSALS = 20


@dataclass(frozen=True, slots=True)
class ModelAnnotatorSettings(CheckedRecord):
    """On how many images a model annotator proposes, when it learns, and how sure it must be. `share` 0: no
    model annotator.

    They hold from the next answer on, also for images that are open. Raises BadField (a ValueError).
    """

    share: Annotated[
        Fraction,
        Field(description=_("Share of the images on which a model annotator proposes boxes; 0: none")),
    ] = field(default=0.0, metadata={"source": "decided: the printed protocol has people only"})
    from_images: Annotated[
        WholeFromOne, Field(description=_("Finished images from which a model annotator learns first"))
    ] = field(default=15, metadata={"source": "decided (docs/model_annotators.md)"})
    retrain_every: Annotated[
        WholeNumber,
        Field(
            description=_(
                "Further finished images after which a model annotator learns again, a quarter more than it "
                "learned from at least; 0: never"
            )
        ),
    ] = field(default=15, metadata={"source": "decided (docs/model_annotators.md)"})
    images_at_once: Annotated[
        WholeNumber,
        Field(
            description=_(
                "Unfinished images that are asked about at once, so that a model annotator learns from the "
                "first before people draw in the others; 0: all"
            )
        ),
    ] = field(default=0, metadata={"source": "decided (docs/model_annotators.md)"})
    system: Annotated[
        StorableText,
        Field(
            description=_("Stored proposer from which a model annotator begins; empty: it learns here alone")
        ),
    ] = field(default="", metadata={"source": "decided"})
    least_chance: Annotated[
        Fraction,
        Field(
            description=_(
                "Chance of being accepted, as a model annotator rates it, from which it proposes a box"
            )
        ),
    ] = field(default=0.33, metadata={"source": "decided (docs/model_annotators.md)"})
    tries: Annotated[
        WholeFromOne,
        Field(description=_("Boxes in a row that a model annotator proposes for a chain before people draw")),
    ] = field(default=2, metadata={"source": "decided (docs/model_annotators.md)"})
    bar: Annotated[
        Fraction,
        Field(
            description=_(
                "Share of a model annotator's last checked boxes that must be good; below it people draw"
            )
        ),
    ] = field(default=0.3, metadata={"source": "decided: looking at a box takes a tenth of drawing one"})
    check_first: Annotated[
        bool,
        Field(
            description=_(
                "Whether people check the first boxes of a model annotator, where they may, before they draw"
            )
        ),
    ] = field(default=True, metadata={"source": "decided (docs/model_annotators.md)"})

    def takes(self, image: str, *, seed: Seed) -> bool:
        """Whether a model annotator works on the image with this key. A larger share has the images of a
        smaller."""
        return draw_number(seed, image, "machine") < self.share

    def images_to_open(self, unfinished: int) -> int | None:
        """How many images are to be opened where so many open ones are unfinished; None: all there are."""
        if not self.images_at_once:
            return None
        few = unfinished <= self.images_at_once * _STILL_UNFINISHED
        return self.images_at_once - unfinished if few else 0


class ProposedBox(NamedTuple):
    """A box that a model annotator would draw, and the chance, as it rates it, that people accept it
    (0..1)."""

    box: Box
    chance: float


#: Of one image: a phrase's id (its mention's) -> its boxes, the best first.
Proposals = Mapping[str, Sequence[ProposedBox]]


def next_proposal(
    proposals: Proposals,
    mentions: Iterable[Mention],
    accepted: Collection[Box],
    *,
    least_chance: float,
    rejected: Collection[Box] = (),
    of_others: Collection[Box] = (),
) -> ProposedBox | None:
    """The box to propose for a chain that has these accepted boxes; None where it is left to people.

    Proposals are those of the mention that people are shown for the chain. Boxes that show what an accepted
    one shows are passed over, and those that are much like one that people `rejected` for the chain, be it
    a person's or a model annotator's. Where a proposal overlaps one `of_others` (`boxes_of_others`), that is
    proposed first: a group and its members have boxes in common.
    """
    for proposed in proposals.get(representative(mentions).id, ()):
        if proposed.chance < least_chance:
            return None
        shared = max(of_others, key=proposed.box.iou, default=None)
        either = [proposed.box]
        if shared is not None and proposed.box.iou(shared) >= _SHARED_BOX:
            either.insert(0, shared)
        for box in either:
            fresh = all(box.iou(box_seen) < SAME_BOX for box_seen in rejected)
            if fresh and all(box.iou(box_seen) < SAME_THING for box_seen in accepted):
                return ProposedBox(box, proposed.chance)
    return None


def boxes_of_others(
    accepted: Iterable[tuple[Collection[str], Box]],
    chain: Iterable[Mention],
    own_boxes: Collection[Box],
    named: Mapping[str, Mention],
) -> tuple[Box, ...]:
    """The boxes that a `chain` with these boxes may have in common with other chains of its category: a group
    with its members. Each once.

    `accepted` are the boxes that people accepted in the image, each with the ids of its chain's mentions;
    `named` are the image's mentions. Of two chains one has to be more than one thing: its phrases name a
    number (`likely_count`), or it has a box and another one is asked for, or has two. Two single things that
    were given one box would be taken for one, and their chains merged: so a single thing is not offered what
    another single one has, though a group has it too.
    """
    chain_mentions = tuple(chain)
    ids, categories = {mention.id for mention in chain_mentions}, set(Chain("", chain_mentions).categories)
    several = bool(own_boxes) or likely_count(chain_mentions) > 1
    of_chain: dict[frozenset[str], list[Box]] = {}
    for mentions, box in accepted:
        of_chain.setdefault(frozenset(mentions), []).append(box)
    group_boxes: list[Box] = []
    of_single: list[Box] = []
    for names, boxes in of_chain.items():
        other_mentions = [named[name] for name in names]
        if not ids.isdisjoint(names) or categories.isdisjoint(Chain("", tuple(other_mentions)).categories):
            continue
        group = several or len(boxes) > 1 or likely_count(other_mentions) > 1
        (group_boxes if group else of_single).extend(boxes)
    return tuple(
        box for box in dict.fromkeys(group_boxes) if all(box.iou(single) < SAME_BOX for single in of_single)
    )


def model_tries(annotator: ModelAnnotatorSettings, limits: BoxLimits) -> int:
    """How many boxes model annotators propose for one drawing question: no more than leave people a round in
    which they draw before the chain goes to review."""
    return min(annotator.tries, limits.fruitless)


def best_first(proposals: Iterable[ProposedBox]) -> list[ProposedBox]:
    """At most `MOST_PROPOSALS` proposals by falling chance, those of equal chance as they came."""
    return sorted(proposals, key=lambda proposal: -proposal.chance)[:MOST_PROPOSALS]


def model_trust(settings: TrustSettings, annotator: ModelAnnotatorSettings) -> TrustSettings:
    """The trust rules that hold for a model annotator: no test, a bar of its own, all else as for people."""
    return replace(settings, qualification=False, drawing_bar=annotator.bar)


def categories_left(
    verdicts: Iterable[tuple[Iterable[str], bool]], *, kind: str, settings: TrustSettings
) -> frozenset[str]:
    """The categories that people draw again, from the verdicts (categories of the chain, good or not) on a
    model annotator's boxes since it last learned, oldest first.

    A category is left by the rule that suspends a worker: `TrustSettings.suspends` over its newest verdicts.
    """
    records: dict[str, list[bool]] = {}
    for categories, good in verdicts:
        for category in categories:
            records.setdefault(category, []).append(good)
    window = settings.window_of(kind)
    return frozenset(
        category for category, recent in records.items() if settings.suspends(kind, recent[-window:])
    )


def learns_now(settings: ModelAnnotatorSettings, *, finished: int, learned: int | None) -> bool:
    """Whether a model annotator that last learned from `learned` finished images (None: never) is to learn
    from `finished`: after `retrain_every` further ones or a quarter more, whichever is more; never from
    fewer than `from_images`."""
    if not settings.share:
        return False
    if learned is None:
        return bool(settings.system) or finished >= settings.from_images
    if not settings.retrain_every or finished < settings.from_images:
        return False
    further = max(settings.retrain_every, _FURTHER_SHARE * learned)
    return learned < settings.from_images or finished - learned >= further
