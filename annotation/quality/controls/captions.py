"""Control items of questions about pairs, from images and captions of the corpus.

Source: Hodosh et al. 2013, section 4.3.2: an image of the development set with one to three of its own
captions and random ones.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import ceil
from operator import attrgetter
from statistics import median
from typing import NamedTuple

from django.db.models import Exists, OuterRef

from annotation.common.database import chunks
from annotation.models import Account, Campaign, Caption, Control, Image, Item, OpenImage
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.controls import draw_number, draw_sample
from annotation.protocol.kinds import ABOUT_PAGE, ABOUT_PAIR, BadItem, Kind, all_kinds, only_kind
from annotation.quality.controls.authoring import Added, add_control_items
from annotation.quality.controls.counted import CaptionName, CountedControlItem
from phrasebox.text.stems import stem
from phrasebox.text.tokens import tokenise

#: Words without information about a picture: two captions may share them and describe different things.
_STOP_WORDS = frozenset(
    "a an the and or of in on at to by with for from into over under near next up down out off is are be "
    "being was were has have had it its his her their he she they them him who that this these there as "
    "while one two three four some several other another".split()
)
#: Number of the campaign's captions from which wrong ones are drawn; and number of these, the nearest in
#: length to a random one, among which each is chosen.
ENOUGH, NEAREST = 2000, 20
#: Maximum number of control pairs of one image, and of a page's images.
MOST_PAIRS, MOST_BLOCKS = 6, 2


class _CaptionWords(NamedTuple):
    """A caption for control items: its name, its text in lower case, its informative words, its length in
    characters, and whether its authors declare that it does not describe its image."""

    name: CaptionName
    text: str
    says: frozenset[str]
    length: int
    unrelated: bool


def from_captions(
    *,
    campaign: Campaign,
    images: Sequence[str],
    seed: int,
    per_page: int,
    purposes: Mapping[str, int],
) -> Iterator[CountedControlItem]:
    """Yield control items of the campaign's kind from `images` outside the campaign: a number of images for
    each purpose, each in as many items as the campaign asks about one of its own, within bounds.

    True captions are the image's own. Wrong ones are first its own captions that are marked as unrelated; the
    others are drawn from the campaign's (or, if it has no questions yet, from captions of others of these
    images), with similar lengths, among those that share no word with the image's captions, except words like
    "the"; if there are none, those that share the fewest. People must check whether one describes it
    nevertheless. If most of these images have marked ones, all are marked, and no others are drawn. No text
    occurs twice, except among wrong ones if it does beside images of the campaign. A page's image has
    `per_page` captions; with too few images or captions, there are fewer items.
    """
    rank = {key: number for number, key in enumerate(draw_sample(images, len(images), seed, "known"))}
    rows = list(Image.objects.filter(corpus=campaign.corpus, key__in=rank))
    rows.sort(key=lambda row: rank[row.key])
    words_of = _caption_words(rows)
    captions, per_image, repeats = _captions_of_campaign(campaign)
    others = [caption for per_image_captions in words_of.values() for caption in per_image_captions]
    marked = sum(
        any(caption.unrelated for caption in per_image_captions) for per_image_captions in words_of.values()
    )
    drawn = [] if 2 * marked > len(words_of) else sorted(captions or others, key=attrgetter("length"))
    rows_in_order = iter(rows)
    kind = _judging_pairs(campaign)
    assert kind is not None
    for purpose, number in purposes.items():
        for _ in range(number):
            image = next(rows_in_order, None)
            if image is None:
                return
            fitting = [caption for caption in words_of[image.key] if not caption.unrelated]
            # The first of equal texts: people would otherwise see one of them twice.
            true = list({caption.text: caption.name for caption in reversed(fitting)}.values())[::-1]
            unrelated = _unrelated_captions(image.key, words_of[image.key], drawn, seed, repeats=repeats)
            if kind.about == ABOUT_PAIR:
                yield from _pairs(kind, purpose, image.key, true, unrelated, seed, min(per_image, MOST_PAIRS))
            else:
                blocks = min(ceil(per_image / per_page), MOST_BLOCKS)
                yield from _blocks(kind, purpose, image.key, true, unrelated, seed, per_page, blocks)


def from_split(
    *,
    campaign: Campaign,
    split: str,
    seed: int = 0,
    purposes: Sequence[str] = Control.PURPOSES,
    number: int = 30,
    actor: Account | None = None,
) -> Added:
    """Add `from_captions` items made from images of `split`, `number` for each purpose.

    Raises BadItem if the campaign judges no pairs, or if the split only has images of the campaign.
    """
    if _judging_pairs(campaign) is None:
        takes = [kind.tasks for kind in all_kinds() if _made_from_captions(kind)]
        raise BadItem(f"campaign {campaign.name!r} asks {campaign.tasks}; expected {' or '.join(takes)}")
    is_open = OpenImage.objects.filter(campaign=campaign, image=OuterRef("pk"))
    free = Image.objects.filter(corpus=campaign.corpus, split=split).exclude(Exists(is_open))
    items = from_captions(
        campaign=campaign,
        images=list(free.order_by("position").values_list("key", flat=True)),
        seed=seed,
        per_page=settings_of(campaign.settings).page.captions,
        purposes=dict.fromkeys(purposes, number),
    )
    candidates = list(items)
    if not candidates:
        raise BadItem(
            f"split {split!r} of corpus {campaign.corpus.name!r} has no image with captions that the "
            "campaign does not ask about; name another split"
        )
    return add_control_items(
        campaign=campaign, items=enumerate(candidates, 1), source="captions", actor=actor
    )


def _made_from_captions(kind: Kind) -> bool:
    """Whether control items of `kind` can be made from an image's own captions."""
    return kind.about == ABOUT_PAGE or kind.pair_known is not None


def _judging_pairs(campaign: Campaign) -> Kind | None:
    """Return the campaign's kind of question about pairs, if items can be made from captions."""
    kind = only_kind(campaign.tasks)
    return kind if kind is not None and _made_from_captions(kind) else None


def _caption_words(rows: Sequence[Image]) -> dict[str, list[_CaptionWords]]:
    """Return the captions of some images, by the image's key; in order, with their index in the name."""
    captions: dict[str, list[_CaptionWords]] = {row.key: [] for row in rows}
    key_of = {row.pk: row.key for row in rows}
    for part in chunks(list(key_of), 500):
        for caption in Caption.objects.filter(image__in=part).order_by("image", "number"):
            words = [word.lower() for word in tokenise(caption.text)]
            says = frozenset(stem(word) for word in words if word.isalnum() and word not in _STOP_WORDS)
            key = key_of[caption.image_id]
            name, text = (key, len(captions[key])), " ".join(caption.text.lower().split())
            captions[key].append(_CaptionWords(name, text, says, len(caption.text), caption.unrelated))
    return captions


def _captions_of_campaign(campaign: Campaign) -> tuple[list[_CaptionWords], int, bool]:
    """Return captions of a campaign, at most ENOUGH; their usual number per image; and whether an image has
    the same text twice."""
    items = Item.objects.filter(task__campaign=campaign).order_by("task", "position")
    contents = list(items.values_list("content", "task__image__image")[:ENOUGH])
    beside: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for content, image in contents:
        captions = content["captions"] if "captions" in content else [content["caption"]]
        beside[content.get("image", image)] += [(owner, number) for owner, number in captions]
    rows = Image.objects.filter(pk__in={owner for names in beside.values() for owner, _ in names})
    key_of = {row.pk: row.key for row in rows}
    captions_of = _caption_words(list(rows))
    named = {
        (owner, number): captions_of[key_of[owner]][number]
        for names in beside.values()
        for owner, number in names
    }
    texts = [[named[name].text for name in dict.fromkeys(names)] for names in beside.values()]
    repeats = any(len(set(of_image)) < len(of_image) for of_image in texts)
    return list(named.values())[:ENOUGH], round(median(map(len, beside.values()))) if beside else 2, repeats


def _unrelated_captions(
    image: str,
    captions: Sequence[_CaptionWords],
    others: Sequence[_CaptionWords],
    seed: int,
    *,
    repeats: bool = False,
) -> Iterator[CaptionName]:
    """Yield captions that do not describe an image, each text once, as long as there are any: those of its
    own that are marked as unrelated, then some of `others`, which are sorted by length; of these, each name
    once if texts may repeat.

    None has the text of one that does.
    """
    seen = {caption.text for caption in captions if not caption.unrelated}
    unrelated = [caption for caption in captions if caption.unrelated]
    for caption in sorted(
        unrelated, key=lambda unrelated_caption: draw_number(seed, "unrelated", *unrelated_caption.name)
    ):
        if caption.text not in seen:
            seen.add(caption.text)
            yield caption.name
    words = frozenset[str]().union(*(caption.says for caption in captions if not caption.unrelated))
    left = [caption for caption in others if caption.name[0] != image]
    attempt = 0
    while left:
        # As long as a random one: captions that share no word with the image's are shorter than most.
        middle = int(draw_number(seed, "wrong", image, attempt) * len(left))
        first = min(max(middle - NEAREST // 2, 0), max(len(left) - NEAREST, 0))
        near = range(first, min(first + NEAREST, len(left)))
        nearest = left.pop(min(near, key=lambda i: (len(words & left[i].says), abs(i - middle))))
        if nearest.text not in seen:
            if not repeats:
                seen.add(nearest.text)
            yield nearest.name
        attempt += 1


def _pairs(
    kind: Kind,
    purpose: str,
    image: str,
    true: Sequence[CaptionName],
    unrelated: Iterator[CaptionName],
    seed: int,
    number: int,
) -> Iterator[CountedControlItem]:
    """Yield graded pairs of an image: half of them true, each caption once."""
    assert kind.pair_known is not None
    fits, wrongly = kind.pair_known
    known = [
        (fits, name) for name in sorted(true, key=lambda name: draw_number(seed, "known", image, fits, *name))
    ]
    for name, unrelated_name in zip(known[: max(1, number // 2)], unrelated, strict=False):
        for grade, caption in (name, (wrongly, unrelated_name)):
            yield CountedControlItem(kind.key, purpose, image, grade, (caption,))


def _blocks(
    kind: Kind,
    purpose: str,
    image: str,
    true: Sequence[CaptionName],
    unrelated: Iterator[CaptionName],
    seed: int,
    per_page: int,
    blocks: int,
) -> Iterator[CountedControlItem]:
    """Yield an image of a page, in as many blocks as there are captions for: each caption is in one."""
    left = sorted(true, key=lambda name: draw_number(seed, "own", image, *name))
    for block in range(blocks):
        most = min(len(left) - (blocks - block - 1), kind.most_true, per_page - 1)
        if most < 1:
            return
        number = 1 + int(draw_number(seed, "true", image, block) * most)
        chosen, left = left[:number], left[number:]
        names = [*chosen, *islice(unrelated, per_page - number)]
        if len(names) < per_page:
            return
        names.sort(key=lambda name: draw_number(seed, "order", image, *name))
        known = tuple(name in chosen for name in names)
        yield CountedControlItem(kind.key, purpose, image, known, tuple(names))
