"""From a corpus, or from pairs of its images and captions, to questions that are only counted.

Captions are written and regions described for every image opened. Pairs are judged: graded one by
one, or ticked on pages of several images (`protocol.paging`), which stand with their first image.

Source: Hodosh et al. 2013, sections 2.3, 4.2.1 and 4.3.2; Karpathy and Fei-Fei 2015, section 4.3.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation import image_rows, sql
from annotation.audit import record
from annotation.campaign_settings import CampaignError, CampaignSettings, settings_of
from annotation.models import Account, Campaign, Caption, Image
from annotation.portions import chunks
from annotation.protocol import questions as q
from annotation.protocol.controls import draw, drawn
from annotation.protocol.counted import Asked
from annotation.protocol.paging import ROLES, Filling, Pair, paginate

#: Images opened in one transaction.
CHUNK = 500
#: What is asked about each image by itself.
PER_IMAGE = {"captions": q.CAPTION_WRITING, "regions": q.REGION_DESCRIPTION}
#: What is asked about pairs.
OF_PAIRS = {"relevance": q.RELEVANCE, "graded": q.GRADED_RELEVANCE}

#: An image's questions, each with the contents of its items.
Questions = Sequence[tuple[Asked, Sequence[dict[str, Any]]]]


@dataclass(frozen=True, slots=True)
class OpenedPairs:
    """What becomes of pairs: how many are asked, on how many tasks, and how full these are where they are
    pages."""

    images: int
    pairs: int
    tasks: int
    filling: Filling


def caption_name(image: str, number: int) -> str:
    """A caption's name: its image's key and its number, from 0."""
    return f"{image}#{number}"


def per_image(campaign: Campaign, images: Sequence[Image]) -> list[tuple[Image, Questions]]:
    """What a campaign of captions or regions asks about each of `images`."""
    settings = settings_of(campaign.settings).answers
    kind = PER_IMAGE[campaign.tasks]
    content = {"regions": settings.regions} if kind == q.REGION_DESCRIPTION else {}
    asked = Asked(kind, f"{kind}|", settings.wanted(kind))
    return [(image, [(asked, [content])]) for image in images]


def trial_pairs(campaign: Campaign, images: Sequence[Image]) -> Iterator[Pair]:
    """Pairs where nobody names any: each image with its own captions, and as many drawn from the others'."""
    captions = _captions(image.pk for image in images)
    for place, image in enumerate(images):
        for number in captions[image.pk]:
            yield Pair(image.key, caption_name(image.key, number))
            # Another image by its distance, so that it is never this one.
            chance = draw(campaign.seed, "trial", image.key, number)
            other = images[(place + 1 + int(chance * (len(images) - 1))) % len(images)]
            if other.pk != image.pk and captions[other.pk]:
                theirs = drawn(map(str, captions[other.pk]), 1, campaign.seed, "trial", image.key, number)
                yield Pair(image.key, caption_name(other.key, int(theirs[0])))


def open_pairs(
    *,
    campaign: Campaign,
    pairs: Iterable[Pair],
    fillers: Mapping[str, Collection[str]] | None = None,
    wave: int = 1,
    actor: Account | None = None,
) -> OpenedPairs:
    """Ask about `pairs`, which may be given in any order, and repeated; `fillers` fill pages up.

    `fillers`: image -> captions that a filter took out for it. All in one transaction, and once: a
    campaign whose pairs are open already is refused, as is a pair of something that its corpus lacks.
    Where a campaign asks in waves, each after the first has its number, and pairs that were not asked.
    """
    kind = OF_PAIRS.get(campaign.tasks)
    if kind is None:
        raise CampaignError(
            f"campaign {campaign.name!r} asks {campaign.tasks}, not pairs: open one with --tasks "
            "relevance or graded"
        )
    settings = settings_of(campaign.settings)
    wanted = list(dict.fromkeys(pairs))
    found = _Found(campaign, wanted, fillers or {})
    filling = Filling()
    if kind == q.RELEVANCE:
        laid_out = paginate(wanted, fillers or {}, seed=campaign.seed, settings=settings.page)
        asked, filling = _pages(laid_out.pages, found, settings, wave), laid_out.filling
    else:
        asked = _graded(wanted, found, settings)
    with sql.writing():
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if row.settings_version != campaign.settings_version:
            raise CampaignError(
                f"the settings of campaign {campaign.name!r} were changed meanwhile; ask for its pairs again"
            )
        if row.state == Campaign.CLOSED:
            raise CampaignError(f"campaign {campaign.name!r} is closed; open another under a new name")
        if wave == 1 and row.images.exists():
            raise CampaignError(
                f"campaign {campaign.name!r} already has its pairs; open another campaign for more"
            )
        for chunk in chunks(asked.items(), CHUNK):
            image_rows.ask_more(
                campaign=campaign, images=[(found.images[key], questions) for key, questions in chunk]
            )
        record(actor=actor, act="open_images", campaign=campaign, images=len(asked), pairs=len(wanted))
    image_rows.analyse(campaign)
    tasks = sum(len(questions) for questions in asked.values())
    return OpenedPairs(len(asked), len(wanted), tasks, filling)


def count_pairs(
    *,
    tasks: str,
    pairs: Iterable[Pair],
    settings: CampaignSettings,
    fillers: Mapping[str, Collection[str]] | None = None,
) -> OpenedPairs:
    """What `open_pairs` makes of pairs in a new campaign of `settings`; nothing is looked up or written.

    Raises KeyError for `tasks` that ask about no pairs.
    """
    wanted = list(dict.fromkeys(pairs))
    if OF_PAIRS[tasks] == q.RELEVANCE:
        laid_out = paginate(wanted, fillers or {}, seed=Campaign().seed, settings=settings.page)
        images = {page[0].image for page in laid_out.pages}
        return OpenedPairs(len(images), len(wanted), len(laid_out.pages), laid_out.filling)
    return OpenedPairs(len({pair.image for pair in wanted}), len(wanted), len(wanted), Filling())


class _Found:
    """The images and captions that pairs name, looked up at once. Raises CampaignError on an unknown one."""

    def __init__(
        self, campaign: Campaign, pairs: Sequence[Pair], fillers: Mapping[str, Collection[str]]
    ) -> None:
        self.corpus = campaign.corpus
        names = {pair.caption for pair in pairs}.union(*fillers.values())
        keys = {pair.image for pair in pairs} | set(fillers) | {name.rpartition("#")[0] for name in names}
        self.images: dict[str, Image] = {}
        for part in chunks(sorted(keys), CHUNK):
            rows = Image.objects.filter(corpus=self.corpus, key__in=part)
            self.images.update((row.key, row) for row in rows)
        if missing := sorted(keys - set(self.images)):
            raise CampaignError(f"there is no image {missing[0]!r} in corpus {self.corpus.name!r}")
        numbers = _captions(image.pk for image in self.images.values())
        self.captions: dict[str, list[int]] = {
            caption_name(image.key, number): [image.pk, number]
            for image in self.images.values()
            for number in numbers[image.pk]
        }
        if unknown := sorted(names - set(self.captions)):
            raise CampaignError(
                f"there is no caption {unknown[0]!r} in corpus {self.corpus.name!r}: expected IMAGE#NUMBER, "
                "numbers from 0"
            )


def _captions(images: Iterable[int]) -> dict[int, list[int]]:
    """Image id -> the places of its captions, as pages show them."""
    ids = list(images)
    found: dict[int, list[int]] = {image: [] for image in ids}
    for part in chunks(ids, CHUNK):
        rows = Caption.objects.filter(image__in=part).order_by("image", "number")
        for image in rows.values_list("image", flat=True):
            found[image].append(len(found[image]))
    return found


def _graded(pairs: Sequence[Pair], found: _Found, settings: CampaignSettings) -> dict[str, Questions]:
    asked: dict[str, list[tuple[Asked, list[dict[str, Any]]]]] = {}
    wanted = settings.answers.graded_relevance
    for pair in pairs:
        one = Asked(q.GRADED_RELEVANCE, q.pair_key(*pair), wanted)
        asked.setdefault(pair.image, []).append((one, [{"caption": found.captions[pair.caption]}]))
    return dict(asked)


def _pages(
    pages: Sequence[Any], found: _Found, settings: CampaignSettings, wave: int
) -> dict[str, Questions]:
    """Each page under its first image; its blocks are its items. The pages of a wave are one batch."""
    asked: dict[str, list[tuple[Asked, list[dict[str, Any]]]]] = {}
    for number, page in enumerate(pages, 1):
        one = Asked(q.RELEVANCE, q.page_key(str(wave), number), settings.answers.relevance)
        blocks = [
            {
                "image": found.images[block.image].pk,
                "captions": [found.captions[entry.caption] for entry in block.entries],
                "roles": [ROLES.index(entry.role) for entry in block.entries],
            }
            for block in page
        ]
        asked.setdefault(page[0].image, []).append((one, blocks))
    return dict(asked)
