"""Opening campaigns: from a corpus to questions for workers.

A campaign begins as a draft; its images are opened in chunks, each in its own transaction, so that repeating
an interrupted request finishes it. The campaign is opened after its images.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from django.db.models import QuerySet

from annotation import instructions
from annotation.audit import record
from annotation.campaigns import counted, planned_images
from annotation.campaigns.choosing import (
    ENTITIES,
    GOLD_LAYERS,
    ImageSelection,
    covered,
    gold_layer,
    images_chosen,
    not_open,
    selected_images,
)
from annotation.campaigns.setting_checks import check_named
from annotation.common import database
from annotation.common.database import chunks
from annotation.datasets.layer_rows import check_layer_name
from annotation.models import Account, Campaign, Image, OpenImage, SettingsVersion
from annotation.protocol.campaign_settings import (
    CampaignError,
    CampaignSettings,
    settings_of,
    settings_of_tasks,
)
from annotation.protocol.kinds import all_tasks
from annotation.protocol.mentions import mentions_of
from annotation.protocol.rehearsal import CrowdSize, crowd_size
from annotation.protocol.trust_settings import kinds_tested
from annotation.quality.controls.authoring import install_sentences, raise_revision
from annotation.queue import image_rows
from annotation.selectors.corpora import check_split, corpus_named
from annotation.selectors.records import marked_spans, stream_records

#: Number of images opened in one transaction: workers of other campaigns wait no longer than it takes.
IMAGES_PER_TRANSACTION = 50
#: Number of planned images per query.
_PLANNED_AT_ONCE = 1_000
#: Number of images of a campaign that the periodic work opens in one run, so that other periodic work does
#: not wait.
_OPENED_AT_ONCE = 1_000

#: Called with the number of images done, and their total.
_Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class OpenedImages:
    """The numbers of images opened now, opened before, skipped since gold does not cover them, and still
    planned: these are opened as others are finished."""

    opened: int
    there: int
    uncovered: int
    planned: int = 0


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """A campaign to be opened for a published corpus, under the given settings.

    `split`, `images` and `tags` as in `open_campaign_images`. A `draft` is stored and not opened.
    `open_to_all` as in `create_campaign`.
    """

    name: str
    corpus: str
    tasks: str
    settings: Mapping[str, Any] | None = None
    draft: bool = False
    split: str | None = None
    images: int | None = None
    open_to_all: bool = False
    tags: tuple[str, ...] = ()


def open_campaign(
    plan: CampaignPlan,
    *,
    actor: Account | None = None,
    progress: _Progress = lambda done, total: None,
) -> Campaign:
    """Open a campaign, so that people can work.

    Repeating it with the same plan changes nothing, or finishes what was interrupted; with more `images`, or
    another `split`, it opens those as well.
    """
    campaign = create_campaign(
        name=plan.name,
        corpus=plan.corpus,
        tasks=plan.tasks,
        settings=plan.settings,
        open_to_all=plan.open_to_all,
        actor=actor,
    )
    if not plan.draft:
        open_campaign_images(
            campaign=campaign,
            split=plan.split,
            images=plan.images,
            tags=plan.tags,
            actor=actor,
            progress=progress,
        )
        begin_campaign(campaign=campaign, actor=actor)
    return campaign


def create_campaign(
    *,
    name: str,
    corpus: str,
    tasks: str,
    settings: Mapping[str, Any] | None = None,
    open_to_all: bool = False,
    actor: Account | None = None,
) -> Campaign:
    """Create a draft; return the existing one if it has the same corpus, tasks and settings.

    `open_to_all`: whether every annotator of the server may work on it, or only those who are invited or
    assigned. Its layer will have its name, so names of gold layers are rejected.
    """
    check_layer_name(name)
    if name in GOLD_LAYERS:
        raise CampaignError(
            f"a campaign called {name!r} would be taken for the corpus's own layer; choose another name"
        )
    if tasks not in all_tasks():
        raise CampaignError(f"unknown tasks {tasks!r}; known: {', '.join(all_tasks())}")
    campaign_settings = settings_of_tasks(tasks, settings or {})
    frozen = campaign_settings.as_dict()
    target = corpus_named(corpus)
    with database.writing():
        campaign, created = Campaign.objects.get_or_create(
            name=name,
            defaults={
                "corpus": target,
                "tasks": tasks,
                "settings": frozen,
                "open_to_all": open_to_all,
                "created_by": actor,
            },
        )
        if created:
            check_named(CampaignSettings(), campaign_settings)
            SettingsVersion.objects.create(campaign=campaign, number=1, settings=frozen, created_by=actor)
            record(actor=actor, act="create_campaign", campaign=campaign, corpus=corpus, tasks=tasks)
    same = (campaign.corpus_id, campaign.tasks) == (target.pk, tasks)
    if not same or settings_of(campaign.settings) != campaign_settings:
        raise CampaignError(
            f"campaign {name!r} already exists with another corpus or other settings; choose another name, "
            "or change its settings"
        )
    return campaign


def open_campaign_images(
    *,
    campaign: Campaign,
    split: str | None = None,
    images: int | None = None,
    tags: Sequence[str] = (),
    after: int = 0,
    positions: range | None = None,
    actor: Account | None = None,
    progress: _Progress = lambda done, total: None,
) -> OpenedImages:
    """Open the campaign's images, of one `split` or all, with their first questions.

    They are opened in the corpus's order until `images` are open in all, including those of earlier calls.
    With queries for `tags` they are drawn at random instead, `images` of them with equal shares of each query
    (`selectors.tags.samples`); a further call with a larger number opens the missing ones. Mentions are those
    of the corpus's gold layer; images that it does not cover are skipped. Without such a layer they are those
    marked by hand, or else found by the chunker. If a pilot asked about pairs of the first `after` of these
    images, pairs of the others are drawn and asked. `positions`: only the images at these positions of the
    corpus. Images without a picture have no questions about boxes, unless the settings say always. With
    `model_annotator.images_at_once` a portion is opened, and the others are planned for `open_next_portion`.
    An exception of `progress` stops it between two chunks. Raises CampaignError if the campaign is closed, or
    was closed meanwhile, and for queries that cannot be read;
    UnknownName for a split or tag that the corpus lacks.
    """
    if split is not None:
        check_split(campaign.corpus, split)
    if images is not None and images < 1:
        raise CampaignError(f"{images} images: expected 1 or more")
    chosen = selected_images(campaign, split, images, tags, positions)
    there = OpenImage.objects.filter(campaign=campaign).count()
    if campaign.tasks != ENTITIES:
        rest = _after_pilot(campaign, chosen, split, after, tags) if after and there else None
        return _open_counted(campaign, chosen, there, actor, progress, rest=rest)
    missing = not_open(campaign, chosen.images)
    if planned_images.images_to_open(campaign) is None and not planned_images.count_planned(campaign):
        most = None if chosen.most is None else max(0, chosen.most - there)
        opened, uncovered = _open_entities(campaign, missing, most, actor, progress)
    else:
        missing = planned_images.not_planned(campaign, missing)
        images_covered = covered(campaign, missing)
        uncovered = missing.count() - images_covered.count() if chosen.most is None else 0
        planned_images.plan_images(campaign, images_covered, chosen.most, actor=actor)
        opened = _open_planned(campaign, actor, progress)
    return OpenedImages(opened, there, uncovered, planned_images.count_planned(campaign))


def open_next_portion(campaign: Campaign) -> int:
    """Open the next images of a campaign that asks about a limited number at once, if enough of those are
    finished; return their number."""
    row = Campaign.objects.select_related("corpus").get(pk=campaign.pk)
    if row.state != Campaign.OPEN:
        return 0
    return _open_planned(row, None, lambda done, total: None, at_most=_OPENED_AT_ONCE)


def _open_planned(
    campaign: Campaign, actor: Account | None, progress: _Progress, *, at_most: int | None = None
) -> int:
    """Open as many of the planned images as may be opened now; return their number."""
    room = planned_images.images_to_open(campaign)
    left = planned_images.count_planned(campaign) if room is None else room
    left = left if at_most is None else min(left, at_most)
    opened = 0
    while left > 0 and (planned := planned_images.next_images(campaign, min(left, _PLANNED_AT_ONCE))):
        done = _open_entities(campaign, Image.objects.filter(pk__in=planned), None, actor, progress)
        opened += done.opened
        left -= len(planned) - done.uncovered
    return opened


class _Opened(NamedTuple):
    """The numbers of images opened, and of those skipped since gold does not cover them."""

    opened: int
    uncovered: int


def _open_entities(
    campaign: Campaign, images: QuerySet[Image], most: int | None, actor: Account | None, progress: _Progress
) -> _Opened:
    """Open these images with their mentions, in the order of the corpus, until `most` of them are open (None:
    all). Opened and skipped images are removed from the plan."""
    layer = gold_layer(campaign.corpus)
    total = images.count()
    left = total_to_open = total if most is None else min(total, most)
    opened = uncovered = 0
    records = stream_records(corpus=campaign.corpus, layer=layer, images=images)
    for chunk in chunks(records, IMAGES_PER_TRANSACTION) if left else ():
        usable = [record for record in chunk if layer is None or record.layer is not None]
        uncovered += len(chunk) - len(usable)
        batch = {record.id: record for record in islice(usable, left)}
        mentions = {key: mentions_of(record) for key, record in batch.items()}
        with database.writing():
            # Locks the campaign's row: of two concurrent openers, the second finds the first one's images.
            now = _still_open(campaign)
            settings = settings_of(now.settings).protocol
            chosen_rows = Image.objects.filter(corpus=campaign.corpus, key__in=mentions)
            # Locks the images' rows: phrases are marked before this, or not at all once there are tasks.
            rows = list(chosen_rows.select_for_update(no_key=True).order_by("position"))
            marked = marked_spans(row.pk for row in rows) if layer is None else {}
            for row in rows:
                if marked.get(row.pk) != batch[row.key].marked:
                    mentions[row.key] = mentions_of(replace(batch[row.key], marked=marked.get(row.pk)))
            for pictured in sorted({bool(row.picture) for row in rows}):
                opened += image_rows.open_images(
                    campaign=now,
                    images=[(row, mentions[row.key]) for row in rows if bool(row.picture) == pictured],
                    settings=settings.of_image(pictured=pictured),
                )
            planned_images.forget_plan(campaign, [record.id for record in chunk])
        left -= len(mentions)
        progress(total_to_open - left + (uncovered if most is None else 0), total_to_open)
        if not left:
            break
    if opened:
        image_rows.analyse_task_tables(campaign)
        record(actor=actor, act="open_images", campaign=campaign, images=opened)
    return _Opened(opened, uncovered)


def _after_pilot(
    campaign: Campaign, chosen: ImageSelection, split: str | None, after: int, tags: Sequence[str]
) -> list[Image]:
    """Return the chosen images without the first `after`, which a pilot had; none where they are open
    already."""
    pilot = images_chosen(campaign, split=split, images=after, tags=tags)
    had = set(pilot.values_list("pk", flat=True))
    rest = [row for row in chosen.images[: chosen.most] if row.pk not in had]
    done = OpenImage.objects.filter(campaign=campaign).exclude(image__in=had).exists()
    return [] if done else rest


def _open_counted(
    campaign: Campaign,
    chosen: ImageSelection,
    there: int,
    actor: Account | None,
    progress: _Progress,
    *,
    rest: list[Image] | None = None,
) -> OpenedImages:
    """Open images with counted questions; their pairs are drawn where none are given.

    `rest`: the images that a pilot did not include.
    """
    if counted.asks_pairs(campaign.tasks):
        if there and not rest:
            return OpenedImages(0, there, 0)
        images = rest or list(chosen.images[: chosen.most])
        pairs = counted.trial_pairs(campaign, images)
        done = counted.open_pairs(campaign=campaign, pairs=pairs, round=2 if rest else 1, actor=actor)
        progress(1, 1)
        return OpenedImages(done.images, 0, 0)
    missing = not_open(campaign, chosen.images)
    left = missing[: max(0, chosen.most - there)] if chosen.most is not None else missing
    total, opened = left.count(), 0
    for chunk in chunks(list(left), counted.COUNTED_IMAGES_PER_TRANSACTION):
        with database.writing():
            now = _still_open(campaign)
            opened += image_rows.open_counted(campaign=now, images=counted.per_image(now, chunk))
        progress(opened, total)
    if opened:
        image_rows.analyse_task_tables(campaign)
        record(actor=actor, act="open_images", campaign=campaign, images=opened)
    return OpenedImages(opened, there, 0)


def _still_open(campaign: Campaign) -> Campaign:
    """Return the campaign's current row, locked: its settings may have changed since. Raises CampaignError
    if it is closed."""
    now = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
    planned_images.check_not_closed(now)
    return now


def begin_campaign(*, campaign: Campaign, actor: Account | None = None) -> None:
    """Open the campaign to workers: a draft whose images are open becomes an open campaign. Others are
    unchanged.

    Kinds without instructions get the built-in ones in their current version.
    """
    with database.writing():
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if row.state == Campaign.DRAFT:
            images = OpenImage.objects.filter(campaign=campaign).count()
            if not images:
                raise CampaignError(
                    f"campaign {campaign.name!r} has no image to ask about: corpus {campaign.corpus.name!r} "
                    "has none, or its gold layer covers none of those wanted"
                )
            instructions.install_texts(campaign)
            for kind in kinds_tested(campaign.kinds, settings_of(row.settings).trust):
                install_sentences(campaign=campaign, kind=kind, actor=actor)
            row.state, row.opened_at = Campaign.OPEN, database.now()
            row.save(update_fields=["state", "opened_at"])
            raise_revision(campaign)
            record(actor=actor, act="open_campaign", campaign=campaign, images=images)
    campaign.refresh_from_db()


def campaign_crowd_size(campaign: Campaign) -> CrowdSize:
    """Return how many workers a campaign needs by its settings; none for boxes if no image of its corpus has
    a picture, unless boxes are always asked."""
    pictured = campaign.corpus.images.exclude(picture="").exists()
    return crowd_size(campaign.kinds, settings_of(campaign.settings), pictured=pictured)


def campaign_named(name: str) -> Campaign:
    """Return the campaign of that name; raises CampaignError if there is none."""
    campaign = Campaign.objects.select_related("corpus").filter(name=name).first()
    if campaign is None:
        raise CampaignError(f"there is no campaign {name!r}; open one first")
    return campaign
