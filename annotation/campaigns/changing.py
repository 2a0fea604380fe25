"""Changing the settings of an existing campaign.

Every change makes a new version. Each lease carries the version under which it was given, and is accepted,
graded and paid under it; each open image keeps the version under which it was opened for its questions and
folds.

    before the first lease   anything; a change to how images are asked about reopens all of them, or none
    after it                 trust, lease, pay and stop from the next lease on; what images are asked under
                             for images that are not open yet; what cannot be mixed stays (`FIXED`)
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.audit import record
from annotation.campaigns import counted
from annotation.campaigns.setting_checks import check_named
from annotation.common import database
from annotation.common.database import chunks
from annotation.datasets.layer_rows import own_layers
from annotation.images.withdrawn import withdrawn_pictures
from annotation.models import (
    Account,
    Assignment,
    Campaign,
    Image,
    Item,
    Judgment,
    OpenImage,
    SettingsVersion,
    Task,
)
from annotation.protocol.campaign_settings import (
    CampaignError,
    CampaignSettings,
    settings_of,
    settings_of_tasks,
)
from annotation.protocol.kinds import is_counted
from annotation.protocol.paging import PAGE_ROLES, ROLE_FILLER, ROLE_WANTED, Pair
from annotation.quality.controls.authoring import raise_revision
from annotation.queue import image_rows
from annotation.queue.image_state import ALL_WITHDRAWN

#: When a change takes effect, and its text.
_AT_ONCE, NEXT_LEASE, NEW_IMAGES, ALL_IMAGES = "at_once", "next_lease", "new_images", "all_images"
WHEN = {
    _AT_ONCE: gettext_lazy("at once"),
    NEXT_LEASE: gettext_lazy("from the next task assigned"),
    NEW_IMAGES: gettext_lazy("for images that are not open yet"),
    ALL_IMAGES: gettext_lazy("at once: all images are reopened"),
}
#: Tables whose values leases carry; all other settings belong to images.
OF_LEASES = ("trust", "lease", "pay")
#: Tables that neither leases nor images carry: they take effect at once.
OF_CAMPAIGN = ("stop", "model_annotator")
#: Settings that are fixed once somebody has worked: amounts in two currencies cannot be added, and pages and
#: forms of two sizes cannot be graded together.
FIXED = (
    *("pay.currency", "page.images", "page.captions", "page.controls"),
    *("answers.regions", "answers.fewest_words", "answers.most_words"),
)
#: Number of images reopened at a time, within the one transaction.
_CHUNK = 200
#: The largest number of versions of a campaign: its column's largest value.
MOST_VERSIONS = 32767


class StaleSettings(CampaignError):
    """Somebody else has changed the settings since they were read; nothing was changed."""


@dataclass(frozen=True, slots=True)
class SettingsDifference:
    """A changed setting: its name ("pay.hourly"), both values, and when it takes effect."""

    name: str
    before: Any
    after: Any
    when: str


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """The result of a change: the version in force, the differences from the previous one, the number of
    reopened images."""

    version: int
    differences: tuple[SettingsDifference, ...]
    reopened: int = 0


def work_has_begun(campaign: Campaign) -> bool:
    """Whether anybody has worked on it: a task or a control item was leased, or answers were imported."""
    rows = Assignment.objects.filter(campaign=campaign), Judgment.objects.filter(campaign=campaign)
    return any(row.exists() for row in rows)


def settings_differences(campaign: Campaign, settings: Mapping[str, Any]) -> tuple[SettingsDifference, ...]:
    """Return what a change to `settings` would change, and when. Raises CampaignError if it is
    impossible."""
    target = settings_of_tasks(campaign.tasks, settings)
    return _differences(campaign, target, work_has_begun(campaign))


def reopens(differences: Iterable[SettingsDifference]) -> bool:
    """Whether such a change reopens the campaign's images."""
    return any(difference.when == ALL_IMAGES for difference in differences)


def check_seen(campaign: Campaign, seen: int | None) -> None:
    """Raise StaleSettings if the version `seen` is no longer in force."""
    if seen is not None and seen != campaign.settings_version:
        raise StaleSettings(
            _(
                "Somebody changed the settings while you were looking at them: you saw version %(seen)d, and "
                "version %(now)d is in force. Look at them again; your change was not saved."
            )
            % {"seen": seen, "now": campaign.settings_version}
        )


def change_campaign_settings(
    *,
    campaign: Campaign,
    settings: Mapping[str, Any],
    seen: int | None = None,
    actor: Account | None = None,
    act: str = "change_settings",
) -> SettingsChange:
    """Put `settings` in force as the next version; identical settings change nothing. Missing ones are
    defaults.

    `seen` is the version on which the change is based: raises StaleSettings if another is in force. Raises
    CampaignError, changing nothing, for an invalid setting or one that can no longer change.
    """
    target = settings_of_tasks(campaign.tasks, settings)
    with database.writing():
        row = Campaign.objects.select_for_update(no_key=True).select_related("corpus").get(pk=campaign.pk)
        check_seen(row, seen)
        if row.state == Campaign.CLOSED:
            raise CampaignError(
                _("Campaign “%(name)s” is closed; its settings can no longer change.") % {"name": row.name}
            )
        differences = _differences(row, target, work_has_begun(row))
        if reopens(differences):
            # A lease may have been given since the check.
            _hold_questions(row)
            differences = _differences(row, target, work_has_begun(row))
        reopened = 0
        if differences:
            _store(row, target, actor)
            if reopens(differences):
                reopened = _reopen(row, actor)
            raise_revision(row)
            record(
                actor=actor,
                act=act,
                campaign=row,
                version=row.settings_version,
                changed={
                    difference.name: [difference.before, difference.after] for difference in differences
                },
                **({"reopened": reopened} if reopened else {}),
            )
    campaign.refresh_from_db()
    return SettingsChange(campaign.settings_version, differences, reopened)


def change_some_settings(
    *,
    campaign: Campaign,
    changed: Callable[[dict[str, Any]], Mapping[str, Any]],
    seen: int | None = None,
    actor: Account | None = None,
    act: str = "change_settings",
) -> SettingsChange:
    """Change some settings: put in force what `changed` makes from the current ones.

    These are read under the campaign's lock, so changes saved since `campaign` was read are kept. `seen`, and
    exceptions: as `change_campaign_settings`.
    """
    with database.writing():
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        return change_campaign_settings(
            campaign=campaign, settings=changed(dict(row.settings)), seen=seen, actor=actor, act=act
        )


def _differences(
    campaign: Campaign, target: CampaignSettings, worked_on: bool
) -> tuple[SettingsDifference, ...]:
    in_force = settings_of(campaign.settings)
    check_named(in_force, target)
    before, after = in_force.flat(), target.flat()
    changed = [name for name in before if before[name] != after[name]]
    images = [name for name in changed if _of_images(name)]
    if worked_on:
        if fixed := [name for name in changed if name in FIXED]:
            raise CampaignError(
                _(
                    "%(names)s can no longer change: somebody has worked on this campaign. Duplicate the "
                    "campaign to use other settings."
                )
                % {"names": ", ".join(fixed)}
            )
    if images and (what := _counted_on_by(campaign)):
        raise CampaignError(
            _("%(names)s cannot change: %(what)s of this campaign depends on it. Create another campaign.")
            % {"names": ", ".join(images), "what": what}
        )
    later = NEW_IMAGES if worked_on else ALL_IMAGES
    return tuple(
        SettingsDifference(
            name,
            before[name],
            after[name],
            later if _of_images(name) else NEXT_LEASE if name.split(".")[0] in OF_LEASES else _AT_ONCE,
        )
        for name in changed
    )


def _of_images(name: str) -> bool:
    """Whether the setting belongs to images, which keep it once they are open."""
    table = name.split(".")[0]
    return table not in (*OF_LEASES, *OF_CAMPAIGN)


def _counted_on_by(campaign: Campaign) -> str:
    """Return what outside of annotation depends on a campaign (such as a batch), "" for nothing."""
    for relation in Campaign._meta.related_objects:
        kind = relation.related_model
        if kind._meta.app_label != Campaign._meta.app_label:
            if kind._default_manager.filter(**{relation.field.name: campaign}).exists():
                return str(kind._meta.verbose_name)
    return ""


def _hold_questions(row: Campaign) -> None:
    """Lock all questions of a campaign, so that none is leased until we are done. Image first, then task: the
    order in which an answer locks them."""
    for rows in (OpenImage.objects.filter(campaign=row), Task.objects.filter(campaign=row)):
        for _id in rows.order_by("id").select_for_update().values_list("id", flat=True).iterator():
            pass


def _store(row: Campaign, target: CampaignSettings, actor: Account | None) -> None:
    if row.settings_version >= MOST_VERSIONS:
        raise CampaignError(
            f"campaign {row.name!r} has the largest possible number of versions of its settings"
        )
    # Creates the first version of settings where none is stored.
    SettingsVersion.objects.get_or_create(
        campaign=row, number=row.settings_version, defaults={"settings": row.settings}
    )
    row.settings, row.settings_version = target.as_dict(), row.settings_version + 1
    row.save(update_fields=["settings", "settings_version"])
    SettingsVersion.objects.create(
        campaign=row, number=row.settings_version, settings=row.settings, created_by=actor
    )
    own_layers(row).update(settings=row.settings)


def _reopen(row: Campaign, actor: Account | None) -> int:
    """Reopen the images of a campaign under its settings, in the caller's transaction; return their
    number."""
    images = OpenImage.objects.filter(campaign=row)
    total = images.count()
    if all(map(is_counted, row.kinds)):
        _reopen_counted(row, actor)
        return total
    image_rows.remove_questions(row)
    for ids in chunks(images.order_by("id").values_list("id", flat=True).iterator(), _CHUNK):
        image_rows.reopen_images(campaign=row, images=ids)
    return total


def _reopen_counted(row: Campaign, actor: Account | None) -> None:
    """Reopen the same images, or pairs, with the number of answers and the page size of the new settings."""
    opened = OpenImage.objects.filter(campaign=row).order_by("id")
    first = {image: priority for image, priority in opened.values_list("image", "priority") if priority}
    gone = _withdrawn_images(row)
    there = Image.objects.filter(pk__in=opened.values("image")).exclude(pk__in=gone)
    images = list(there.order_by("position"))
    pairs, fillers = _pairs_with_fillers(row, gone) if counted.asks_pairs(row.tasks) else ([], {})
    image_rows.remove_questions(row)
    opened.delete()
    if counted.asks_pairs(row.tasks):
        if pairs:
            counted.open_pairs(campaign=row, pairs=pairs, fillers=fillers, actor=actor)
    else:
        for chunk in chunks(images, _CHUNK):
            image_rows.open_counted(campaign=row, images=counted.per_image(row, chunk))
    for priority in sorted(set(first.values())):
        image_rows.prioritise(
            campaign=row,
            images=[image for image, stored in first.items() if stored == priority],
            priority=priority,
        )


def _withdrawn_images(row: Campaign) -> set[int]:
    """Return the images whose picture was withdrawn since the campaign asked about them, which are not asked
    about again. On a page it is the image without a picture."""
    gone: set[int] = set()
    pages: set[int] = set()
    opened = OpenImage.objects.filter(campaign=row, state__has_key="withdrawn")
    for number, image, keys in opened.values_list("id", "image", "state__withdrawn"):
        if ALL_WITHDRAWN in keys:
            gone.add(image)
        items = Item.objects.filter(task__image=number, task__key__in=keys)
        pages.update(content["image"] for content in items.values_list("content", flat=True))
    lost = Q(picture="") | Q(picture__in=withdrawn_pictures())
    return gone | set(Image.objects.filter(lost, pk__in=pages).values_list("pk", flat=True))


def _pairs_with_fillers(row: Campaign, gone: Collection[int]) -> tuple[list[Pair], dict[str, list[str]]]:
    """Return the pairs of a campaign, in the order of its questions, and the fillers of its pages, without
    those of `gone` images."""
    keys = dict(Image.objects.filter(corpus=row.corpus_id).values_list("pk", "key"))
    pairs: list[Pair] = []
    fillers: dict[str, list[str]] = {}
    items = Item.objects.filter(task__campaign=row).order_by("task", "position")
    for image, content in items.values_list("task__image__image", "content").iterator():
        for role, (pictured, (of, number)) in _entries(image, content):
            if pictured in gone:
                continue
            caption = counted.caption_name(keys[of], number)
            if role == ROLE_WANTED:
                pairs.append(Pair(keys[pictured], caption))
            elif role == ROLE_FILLER:
                fillers.setdefault(keys[pictured], []).append(caption)
    return pairs, fillers


def _entries(image: int, content: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, tuple[int, int]]]]:
    """Yield the pairs of one item, each with its role: those of a page's block, or the graded pair."""
    if "caption" in content:
        yield ROLE_WANTED, (image, content["caption"])
        return
    for role, caption in zip(content["roles"], content["captions"], strict=True):
        yield PAGE_ROLES[role], (content["image"], caption)
