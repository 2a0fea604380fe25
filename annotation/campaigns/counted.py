"""Questions that are only counted, made from a corpus or from pairs of its images and captions.

Captions are written and regions described for every image opened. Pairs are judged: graded one by one, or
ticked on pages of several images (`protocol.paging`), which belong to their first image.

Source: Hodosh et al. 2013, sections 2.3, 4.2.1 and 4.3.2; Karpathy and Fei-Fei 2015, section 4.3.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from annotation.audit import record
from annotation.campaigns.choosing import too_small_keys
from annotation.common import database
from annotation.common.database import chunks
from annotation.models import Account, Campaign, Caption, Image
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import CampaignError, CampaignSettings, settings_of
from annotation.protocol.controls import draw_number, draw_sample
from annotation.protocol.counted import CountedQuestion
from annotation.protocol.kinds import (
    ABOUT_IMAGE,
    ABOUT_PAGE,
    ABOUT_PAIR,
    Kind,
    all_tasks,
    is_page,
    kinds_of_tasks,
    only_kind,
)
from annotation.protocol.paging import PAGE_ROLES, ROLE_WANTED, Filling, Pair, paginate
from annotation.queue import image_rows
from annotation.selectors.pair_judgments import captions_named, selected_pairs

#: The separator of the parts of a question's key.
_BETWEEN = "|"
#: Number of images opened in one transaction.
COUNTED_IMAGES_PER_TRANSACTION = 500
#: An image's questions, each with the contents of its items.
Questions = Sequence[tuple[CountedQuestion, Sequence[dict[str, Any]]]]


@dataclass(frozen=True, slots=True)
class OpenedPairs:
    """The result of opening pairs: the number asked, the number of tasks, and for pages how full they are."""

    images: int
    pairs: int
    tasks: int
    filling: Filling


def tasks_of_pairs() -> tuple[str, ...]:
    """Return the tasks whose campaigns ask about pairs of image and caption, one by one or on pages."""
    return tuple(tasks for tasks in all_tasks() if asks_pairs(tasks))


def asks_pairs(tasks: str) -> bool:
    """Whether a campaign of these tasks asks about pairs."""
    kind = only_kind(tasks)
    return kind is not None and kind.about in (ABOUT_PAIR, ABOUT_PAGE)


def caption_name(image: str, number: int) -> str:
    """Return a caption's name: its image's key and its number, from 0."""
    return f"{image}#{number}"


def per_image(campaign: Campaign, images: Sequence[Image]) -> list[tuple[Image, Questions]]:
    """Return a campaign's questions about each of `images` by itself."""
    settings = settings_of(campaign.settings).answers
    kind = only_kind(campaign.tasks)
    assert kind is not None and kind.about == ABOUT_IMAGE
    question = CountedQuestion(kind.key, f"{kind.key}|", settings.answers_needed(kind.key))
    return [(image, [(question, [kind.content(settings.number)])]) for image in images]


def trial_pairs(campaign: Campaign, images: Sequence[Image]) -> Iterator[Pair]:
    """Yield pairs where none are given: each image with its own captions, and as many random ones of other
    images."""
    captions = _captions(image.pk for image in images)
    for index, image in enumerate(images):
        for number in captions[image.pk]:
            yield Pair(image.key, caption_name(image.key, number))
            # Drawn as a distance to another image, so that it is never the same one.
            chance = draw_number(campaign.seed, "trial", image.key, number)
            neighbour = images[(index + 1 + int(chance * (len(images) - 1))) % len(images)]
            if neighbour.pk != image.pk and captions[neighbour.pk]:
                theirs = draw_sample(
                    map(str, captions[neighbour.pk]), 1, campaign.seed, "trial", image.key, number
                )
                yield Pair(image.key, caption_name(neighbour.key, int(theirs[0])))


def open_pairs(
    *,
    campaign: Campaign,
    pairs: Iterable[Pair],
    fillers: Mapping[str, Collection[str]] | None = None,
    round: int = 1,
    actor: Account | None = None,
) -> OpenedPairs:
    """Ask about `pairs`, given in any order and possibly repeated; `fillers` fill up pages.

    `fillers`: image -> captions that a filter removed for it. All in one transaction, and only once: raises
    CampaignError for a campaign whose pairs are open already, and for a pair of something that its corpus
    lacks. In a campaign with rounds, each later one has its number, and pairs that were not asked. Images
    that are too small to be asked about are skipped.
    """
    kind = _kind_of_pairs(campaign)
    settings = settings_of(campaign.settings)
    too_small = too_small_keys(campaign.corpus)
    distinct = [pair for pair in dict.fromkeys(pairs) if pair.image not in too_small]
    lookup = _NamedRows(campaign, distinct, fillers or {})
    filling = Filling()
    if kind.about == ABOUT_PAGE:
        laid_out = paginate(distinct, fillers or {}, seed=campaign.seed, settings=settings.page)
        by_image, filling = _pages(kind.key, laid_out.pages, lookup, settings, round), laid_out.filling
    else:
        if odd := sorted({pair.image for pair in distinct if _BETWEEN in pair.image}):
            raise CampaignError(
                f"the key of image {odd[0]!r} has a {_BETWEEN!r}, which stands between the parts of a "
                "question's key: leave the image out, or import it under another key"
            )
        by_image = _single(kind.key, distinct, lookup, settings)
    with database.writing():
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if row.settings_version != campaign.settings_version:
            raise CampaignError(
                f"the settings of campaign {campaign.name!r} were changed meanwhile; ask for its pairs again"
            )
        if row.state == Campaign.CLOSED:
            raise CampaignError(f"campaign {campaign.name!r} is closed; open another under a new name")
        if round == 1 and row.images.exists():
            raise CampaignError(
                f"campaign {campaign.name!r} already has its pairs; open another campaign for more"
            )
        for chunk in chunks(by_image.items(), COUNTED_IMAGES_PER_TRANSACTION):
            image_rows.ask_more(
                campaign=campaign, images=[(lookup.images[key], questions) for key, questions in chunk]
            )
        record(actor=actor, act="open_images", campaign=campaign, images=len(by_image), pairs=len(distinct))
    image_rows.analyse_task_tables(campaign)
    tasks = sum(len(questions) for questions in by_image.values())
    return OpenedPairs(len(by_image), len(distinct), tasks, filling)


def _kind_of_pairs(campaign: Campaign) -> Kind:
    kind = only_kind(campaign.tasks)
    if kind is None or not asks_pairs(campaign.tasks):
        raise CampaignError(
            f"campaign {campaign.name!r} asks {campaign.tasks}, not pairs; expected one that asks "
            + " or ".join(tasks_of_pairs())
        )
    return kind


def has_these_pairs(campaign: Campaign, pairs: Iterable[Pair]) -> bool:
    """Whether these are the pairs that a campaign asks about, in any order. Raises CampaignError for a
    campaign without pairs, and for a pair of something that its corpus lacks."""
    _kind_of_pairs(campaign)
    distinct = list(dict.fromkeys(pairs))
    images = _NamedRows(campaign, distinct, {}).images
    captions = captions_named(campaign, [pair.caption for pair in distinct])
    opened = {(images[pair.image].pk, caption) for pair, caption in zip(distinct, captions, strict=True)}
    return opened == {
        (image, caption) for image, caption, role in selected_pairs(campaign) if role == ROLE_WANTED
    }


def count_pairs(
    *,
    tasks: str,
    pairs: Iterable[Pair],
    settings: CampaignSettings,
    fillers: Mapping[str, Collection[str]] | None = None,
) -> OpenedPairs:
    """Return the numbers that `open_pairs` would give in a new campaign with `settings`; reads and writes no
    rows.

    Raises KeyError for `tasks` without pairs.
    """
    distinct = list(dict.fromkeys(pairs))
    if not asks_pairs(tasks):
        raise KeyError(tasks)
    if is_page(kinds_of_tasks(tasks)[0]):
        laid_out = paginate(distinct, fillers or {}, seed=Campaign().seed, settings=settings.page)
        images = {page[0].image for page in laid_out.pages}
        return OpenedPairs(len(images), len(distinct), len(laid_out.pages), laid_out.filling)
    return OpenedPairs(len({pair.image for pair in distinct}), len(distinct), len(distinct), Filling())


class _NamedRows:
    """The rows of the images and captions named by pairs, read at once. Raises CampaignError on an unknown
    one."""

    def __init__(
        self, campaign: Campaign, pairs: Sequence[Pair], fillers: Mapping[str, Collection[str]]
    ) -> None:
        self.corpus = campaign.corpus
        names = {pair.caption for pair in pairs}.union(*fillers.values())
        keys = {pair.image for pair in pairs} | set(fillers) | {name.rpartition("#")[0] for name in names}
        self.images: dict[str, Image] = {}
        for part in chunks(sorted(keys), COUNTED_IMAGES_PER_TRANSACTION):
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
    """Return image id -> the positions of its captions, as pages use them."""
    ids = list(images)
    numbers: dict[int, list[int]] = {image: [] for image in ids}
    for part in chunks(ids, COUNTED_IMAGES_PER_TRANSACTION):
        rows = Caption.objects.filter(image__in=part).order_by("image").values_list("image")
        for image, count in rows.annotate(count=Count("pk")):
            numbers[image] = list(range(count))
    return numbers


def _single(
    kind: str, pairs: Sequence[Pair], lookup: _NamedRows, settings: CampaignSettings
) -> dict[str, Questions]:
    """Return each pair as one question."""
    questions: dict[str, list[tuple[CountedQuestion, list[dict[str, Any]]]]] = {}
    needed = settings.answers.answers_needed(kind)
    for pair in pairs:
        question = CountedQuestion(kind, q.pair_key(kind, *pair), needed)
        questions.setdefault(pair.image, []).append((question, [{"caption": lookup.captions[pair.caption]}]))
    return dict(questions)


def _pages(
    kind: str, pages: Sequence[Any], lookup: _NamedRows, settings: CampaignSettings, round: int
) -> dict[str, Questions]:
    """Return each page under its first image; its blocks are its items. The pages of a round are one
    batch."""
    questions: dict[str, list[tuple[CountedQuestion, list[dict[str, Any]]]]] = {}
    for number, page in enumerate(pages, 1):
        question = CountedQuestion(
            kind, q.page_key(kind, str(round), number), settings.answers.answers_needed(kind)
        )
        blocks = [
            {
                "image": lookup.images[block.image].pk,
                "captions": [lookup.captions[entry.caption] for entry in block.entries],
                "roles": [PAGE_ROLES.index(entry.role) for entry in block.entries],
            }
            for block in page
        ]
        questions.setdefault(page[0].image, []).append((question, blocks))
    return dict(questions)
