"""Opening a draft as a campaign: completely, or as a pilot on a few images, which is continued later."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.db.models import Count
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.campaigns.choosing import ENTITIES, images_chosen, not_open
from annotation.campaigns.counted import asks_pairs
from annotation.campaigns.drafts import fields
from annotation.campaigns.drafts.answer_times import answer_times_of
from annotation.campaigns.drafts.estimate import DraftEstimate, EstimateTerms, estimate_from
from annotation.campaigns.drafts.marks import items_of_marks
from annotation.campaigns.drafts.readiness import LINE_MISSING, readiness
from annotation.campaigns.drafts.reading import PILOT_IMAGES, DraftPlan, read_draft
from annotation.campaigns.duplicating import duplicate_campaign
from annotation.campaigns.opening import create_campaign
from annotation.campaigns.planned_images import not_planned
from annotation.common import database
from annotation.datasets.layers import layer_to_read
from annotation.models import Account, Campaign, CampaignDraft, Control, Image, Judgment
from annotation.moderation import control_items
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.protocol.questions import DOUBLE_CHECK, VOTE
from annotation.quality import controls

_T = TypeVar("_T")
#: Queues the opening of a campaign's images, with these arguments of the job `open_images`.
Enqueue = Callable[[Campaign, dict[str, Any]], object]
#: The number of finished images of a pilot from which it gives an estimate for all.
_TELLING = 5


def open_draft(*, draft: CampaignDraft, enqueue: Enqueue) -> Campaign:
    """Create the campaign of a draft with its control items, queue the opening of its images, and delete the
    draft.

    All or nothing. Raises CampaignError if anything is missing.
    """
    with database.writing():
        row = CampaignDraft.objects.select_for_update(of=("self",)).filter(pk=draft.pk).first()
        if row is None:
            raise CampaignError(_("This draft was opened or deleted already."))
        plan = read_draft(row)
        missing = [line for line in readiness(plan) if line.state == LINE_MISSING]
        if missing or plan.corpus is None:
            raise CampaignError(
                _("It cannot be opened yet: %(what)s")
                % {"what": " ".join(f"{line.title}: {line.text}" for line in missing)}
            )
        campaign = _created(plan)
        if campaign.jobs.exists() or campaign.images.exists():  # somebody else's, created at the same moment
            raise CampaignError(
                _("There is a campaign “%(name)s” already: choose another name.") % {"name": plan.name}
            )
        if plan.entry in (fields.ENTRY_NONE, fields.ENTRY_PRACTICE):
            # The test was copied from the original campaign.
            campaign.controls.filter(purpose=Control.QUALIFICATION).delete()
        items = [
            item
            for item in items_of_marks(plan)
            if item.purpose == Control.CONTROL or plan.entry == fields.ENTRY_MARKED
        ]
        try:
            controls.add_control_items(
                campaign=campaign, items=enumerate(items, 1), source="page", actor=row.owner
            )
        except controls.BadItems as error:
            raise CampaignError(str(error)) from error
        whole = {"split": plan.split, "images": plan.images, "tags": list(plan.tags)}
        known = {"known": plan.known} if plan.entry == fields.ENTRY_KNOWN else {}
        enqueue(campaign, {**(pilot_of(campaign=campaign, whole=whole) if plan.pilot else whole), **known})
        row.delete()
    campaign.refresh_from_db()
    return campaign


def _created(plan: DraftPlan) -> Campaign:
    """Create the campaign of a plan, without images, with the texts and items of the original campaign."""
    assert plan.corpus is not None
    arguments: dict[str, Any] = {
        "name": plan.name,
        "corpus": plan.corpus.name,
        "tasks": plan.tasks,
        "settings": plan.settings.as_dict(),
        "open_to_all": plan.open_to_all,
        "actor": plan.draft.owner,
    }
    like = plan.like
    return (
        duplicate_campaign(campaign=like, **arguments) if like is not None else create_campaign(**arguments)
    )


def pilot_of(*, campaign: Campaign, whole: Mapping[str, Any]) -> dict[str, Any]:
    """Make a campaign without images a pilot of those in `whole` (split, images, tags), and return which ones
    it opens first; all of them, if there are no more than a pilot has."""
    if images_chosen(campaign, **_choice(whole)).count() <= PILOT_IMAGES:
        return dict(whole)
    Campaign.objects.filter(pk=campaign.pk).update(pilot=dict(whole))
    campaign.refresh_from_db(fields=["pilot"])
    return {**whole, "images": PILOT_IMAGES}


def add_items_of_draft(*, campaign: Campaign, known: str, actor: Account | None = None) -> int:
    """Add control items and a test from gold: a layer of that name, or the captions of a split.

    Returns how many were added. Raises PhraseboxError, BadItem, LayerBehind and UnknownName.
    """
    if campaign.tasks == ENTITIES:
        layer = layer_to_read(campaign.corpus, known)
        assert layer is not None  # A name was given.
        return control_items.from_gold(campaign=campaign, layer=layer, actor=actor).added
    return controls.from_split(campaign=campaign, split=known, seed=campaign.seed, actor=actor).added


def go_on_with_all(
    *, campaign: Campaign, enqueue: Callable[[Campaign, dict[str, Any]], _T], actor: Account | None = None
) -> _T:
    """Open the images that a pilot did not include; return the result of `enqueue`. Raises CampaignError
    if there is no pilot any more."""
    with database.writing():
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if row.pilot is None or row.state not in (Campaign.OPEN, Campaign.PAUSED):
            raise CampaignError(
                _("campaign “%(name)s” is no pilot that could continue, or not open") % {"name": row.name}
            )
        queued = enqueue(row, {**row.pilot, "after": PILOT_IMAGES})
        row.pilot = None
        row.save(update_fields=["pilot"])
        record(actor=actor, act="go_on_with_all", campaign=row)
    campaign.refresh_from_db()
    return queued


def check_no_running_pilot(campaign: Campaign) -> None:
    """Raise CampaignError if a campaign is a running pilot: a request that opens it again by name may mean
    fewer, more or other images than the pilot has."""
    if campaign.pilot is not None and campaign.state != Campaign.DRAFT:
        raise CampaignError(
            _("Campaign “%(name)s” is a pilot: continue with all its images instead of opening it again.")
            % {"name": campaign.name}
        )


def images_after_pilot(campaign: Campaign) -> int:
    """Return how many images a pilot did not include; 0 without a pilot."""
    if campaign.pilot is None:
        return 0
    chosen = images_chosen(campaign, **_choice(campaign.pilot))
    if asks_pairs(campaign.tasks):  # an image may be on another one's page
        return max(0, chosen.count() - PILOT_IMAGES)
    left = not_open(campaign, Image.objects.filter(pk__in=chosen.values("pk")))
    # The pilot itself may open its images in portions.
    return not_planned(campaign, left).count()


def pilot_estimate(campaign: Campaign, *, reader: Account) -> DraftEstimate | None:
    """Estimate the images that a pilot did not include, from those that it finished; None before there are
    enough."""
    left = images_after_pilot(campaign)
    rows = Judgment.objects.filter(
        image__campaign=campaign, image__complete=True, withdrawn=False, role__in=(VOTE, DOUBLE_CHECK)
    )
    sample: dict[int, dict[str, float]] = {}
    for image, kind, number in rows.values_list("image", "kind").annotate(n=Count("pk")).order_by():
        sample.setdefault(image, {})[kind] = float(number)
    if not left or len(sample) < _TELLING:
        return None
    if campaign.tasks != ENTITIES:  # a page belongs to the first of its images
        share = campaign.images.count() / PILOT_IMAGES
        sample = {image: {kind: n * share for kind, n in of.items()} for image, of in sample.items()}
    settings, kinds = settings_of(campaign.settings), campaign.kinds
    terms = EstimateTerms(kinds, settings, answer_times_of(reader, kinds))
    return estimate_from(terms, left, list(sample.values()), sampled=len(sample), apart=True)


def _choice(pilot: Mapping[str, Any]) -> dict[str, Any]:
    return {name: pilot.get(name) for name in ("split", "images")} | {"tags": tuple(pilot.get("tags") or ())}
