"""Known items of questions about pairs, from images and captions of the corpus.

Source: Hodosh et al. 2013, section 4.3.2: an image of the development set with one to three of its own
captions and random ones beside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.db.models import Exists, OuterRef

from annotation.campaign_settings import settings_of
from annotation.controls.authoring import Added, add
from annotation.controls.counted import CaptionName, CountedItem
from annotation.controls.items import BadItem
from annotation.models import Account, Campaign, Caption, Control, Image, OpenImage
from annotation.protocol import questions as q
from annotation.protocol.controls import draw, drawn
from annotation.protocol.grading import TRUE_CAPTIONS
from models_core.text.stems import stem
from models_core.text.tokens import tokenise


def from_captions(
    *,
    campaign: Campaign,
    images: Sequence[str],
    seed: int,
    per_page: int,
    purposes: Mapping[str, int],
) -> Iterator[CountedItem]:
    """Known items of `campaign`'s kind from `images` that it does not ask about, so many for each purpose.

    True captions are the image's own. Wrong ones were written for others of these images: those that
    share the fewest stems with what is said of it. Whether one describes it all the same, somebody has
    to look. A page's image has `per_page` captions; where there are too few images or captions, there
    are fewer items.
    """
    place = {key: number for number, key in enumerate(drawn(images, len(images), seed, "known"))}
    rows = list(Image.objects.filter(corpus=campaign.corpus, key__in=place))
    rows.sort(key=lambda row: place[row.key])
    said: dict[str, list[frozenset[str]]] = {row.key: [] for row in rows}
    key_of = {row.pk: row.key for row in rows}
    for caption in Caption.objects.filter(image__in=key_of).order_by("image", "number"):
        said[key_of[caption.image_id]].append(
            frozenset(stem(word.lower()) for word in tokenise(caption.text))
        )
    turn = iter(rows)
    for purpose, number in purposes.items():
        for _ in range(number):
            image = next(turn, None)
            if image is None:
                return
            true, wrong = _true_and_wrong(image.key, said, seed, per_page)
            yield from _known(campaign.kinds[0], purpose, image.key, true, wrong, seed, per_page)


def from_split(
    *,
    campaign: Campaign,
    split: str,
    seed: int = 0,
    purposes: Sequence[str] = Control.PURPOSES,
    number: int = 30,
    actor: Account | None = None,
) -> Added:
    """Add `from_captions` items made of images of `split`, `number` for each purpose.

    Raises BadItem where the campaign judges no pairs, or the split has none but images that it asks about.
    """
    if campaign.kinds not in ((q.RELEVANCE,), (q.GRADED_RELEVANCE,)):
        raise BadItem(f"campaign {campaign.name!r} asks {campaign.tasks}; expected relevance or graded")
    asked = OpenImage.objects.filter(campaign=campaign, image=OuterRef("pk"))
    free = Image.objects.filter(corpus=campaign.corpus, split=split).exclude(Exists(asked))
    items = from_captions(
        campaign=campaign,
        images=list(free.order_by("position").values_list("key", flat=True)),
        seed=seed,
        per_page=settings_of(campaign.settings).page.captions,
        purposes=dict.fromkeys(purposes, number),
    )
    found = list(items)
    if not found:
        raise BadItem(
            f"split {split!r} of corpus {campaign.corpus.name!r} has no image with captions that the "
            "campaign does not ask about; name another split"
        )
    return add(campaign=campaign, items=enumerate(found, 1), source="captions", actor=actor)


def _true_and_wrong(
    image: str, said: Mapping[str, list[frozenset[str]]], seed: int, per_page: int
) -> tuple[list[CaptionName], list[CaptionName]]:
    own = frozenset().union(*said[image])
    true = [(image, place) for place in range(len(said[image]))]
    others = [(other, place) for other in said if other != image for place in range(len(said[other]))]
    others.sort(key=lambda name: (len(own & said[name[0]][name[1]]), draw(seed, "wrong", image, *name)))
    return true, others[:per_page]


def _known(
    kind: str,
    purpose: str,
    image: str,
    true: list[CaptionName],
    wrong: list[CaptionName],
    seed: int,
    per_page: int,
) -> Iterator[CountedItem]:
    if kind == q.GRADED_RELEVANCE:
        for grade, names in (("4", true), ("1", wrong)):
            if names:
                chosen = names[int(draw(seed, "known", image, grade) * len(names))]
                yield CountedItem(kind, purpose, image, grade, (chosen,))
        return
    most = min(len(true), max(TRUE_CAPTIONS), per_page - 1)
    number = 1 + int(draw(seed, "true", image) * most)
    names = [*true[:number], *wrong[: per_page - number]]
    if not true or len(names) < per_page:
        return
    names.sort(key=lambda name: draw(seed, "order", image, *name))
    yield CountedItem(kind, purpose, image, tuple(name in true for name in names), tuple(names))
