"""Model annotators: a campaign's settings for them, and the rules by which they answer.

A model annotator is a worker. It answers through the same queue and the same fold as people, and is judged by
the same verdicts. There are three differences. It gives only those answers of a kind that people check
afterwards (`Kind.model_answers`: "drawn" to drawing, "yes" to a link). It only gives votes, since agreement
is about people. And besides its trust state it has a record per category: below the bar, people draw again
for that category.

Source: the verdicts are those of Plummer et al. 2015, sections 2.2 and 2.3. Verifying a box costs people a
tenth of drawing it: Papadopoulos et al. 2016. All numbers are our choices.
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

#: A proposal that overlaps an accepted box by this IoU shows the same thing: from there on an accepted box
#: covers a gold box (`gold.COVERS`).
SAME_THING = 0.5
#: A proposal that overlaps a rejected box by this IoU would be rejected again: the threshold of verdicts.
SAME_BOX = 0.7
#: A proposal that overlaps a box of `boxes_of_others` by this IoU is taken to be that box.
_SHARED_BOX = 0.4
#: More images are opened when the share of `ModelAnnotatorSettings.images_at_once` that is unfinished falls
#: to this value, so that people have tasks meanwhile.
_STILL_UNFINISHED = 0.25
#: A model annotator is retrained after at least this share of additional images, relative to the last
#: training: the more it has seen, the less a few more change.
_FURTHER_SHARE = 0.25
#: Maximum number of stored proposals per phrase.
MOST_PROPOSALS = 20


@dataclass(frozen=True, slots=True)
class ModelAnnotatorSettings(CheckedRecord):
    """On how many images a model annotator proposes, when it is trained, and its thresholds. `share` 0: no
    model annotator.

    Changes apply from the next answer on, also to open images. Raises BadField (a ValueError).
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
        """Whether a model annotator works on the image with this key. A larger share includes the images of a
        smaller."""
        return draw_number(seed, image, "machine") < self.share

    def images_to_open(self, unfinished: int) -> int | None:
        """Return how many images to open when this many open ones are unfinished; None: all."""
        if not self.images_at_once:
            return None
        few = unfinished <= self.images_at_once * _STILL_UNFINISHED
        return self.images_at_once - unfinished if few else 0


class ProposedBox(NamedTuple):
    """A box proposed by a model annotator, and its estimated probability that people accept it (0..1)."""

    box: Box
    chance: float


#: Boxes of one image by the id of a phrase (its mention), the best first.
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
    """Return the box to propose for a chain with these accepted boxes; None if it is left to people.

    Proposals are those of the mention that represents the chain. Boxes that show the same as an accepted one
    are skipped, and those that are similar to one that people `rejected` for the chain, whether a person or a
    model annotator drew it. A proposal that overlaps one of `of_others` (`boxes_of_others`) comes first: a
    group and its members have boxes in common.
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
    """Return the boxes that a `chain` with these boxes may share with other chains of its category: a group
    with its members. Without duplicates.

    `accepted` are the boxes that people accepted in the image, each with the ids of its chain's mentions;
    `named` are the image's mentions. One of the two chains must be more than one thing: its phrases name a
    number (`likely_count`), or it has a box and needs another, or it has two. Two single things with the same
    box would be merged, so the box of a single thing is never proposed for another single thing, even if a
    group has it too.
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
    """Return the maximum number of boxes that model annotators propose for one drawing question: people must
    have a round of drawing before the chain goes to review."""
    return min(annotator.tries, limits.fruitless)


def best_first(proposals: Iterable[ProposedBox]) -> list[ProposedBox]:
    """Return at most `MOST_PROPOSALS` proposals by decreasing probability; the sort is stable."""
    return sorted(proposals, key=lambda proposal: -proposal.chance)[:MOST_PROPOSALS]


def model_trust(settings: TrustSettings, annotator: ModelAnnotatorSettings) -> TrustSettings:
    """Return the trust rules for a model annotator: no test, its own bar, otherwise as for people."""
    return replace(settings, qualification=False, drawing_bar=annotator.bar)


def categories_left(
    verdicts: Iterable[tuple[Iterable[str], bool]], *, kind: str, settings: TrustSettings
) -> frozenset[str]:
    """Return the categories that people draw again, from the verdicts (categories of the chain, good or not)
    on a model annotator's boxes since its last training, oldest first.

    A category is dropped by the rule that suspends a worker: `TrustSettings.suspends` over its newest
    verdicts.
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
    """Whether to train a model annotator on `finished` images whose last training used `learned` (None:
    never): after `retrain_every` more, or a quarter more, whichever is larger; never on fewer than
    `from_images`."""
    if not settings.share:
        return False
    if learned is None:
        return bool(settings.system) or finished >= settings.from_images
    if not settings.retrain_every or finished < settings.from_images:
        return False
    further = max(settings.retrain_every, _FURTHER_SHARE * learned)
    return learned < settings.from_images or finished - learned >= further
