"""Drafts as rows: created, filled step by step, from TOML or from another campaign, deleted."""

import tomllib
from collections.abc import Mapping
from itertools import count

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.campaigns.drafts import fields
from annotation.common import database
from annotation.models import Account, Campaign, CampaignDraft, Corpus
from annotation.protocol.campaign_settings import CampaignError, settings_of, settings_of_tasks

#: The largest number of drafts per account; nobody works on more at a time.
MOST_DRAFTS = 50


def drafts_of(account: Account) -> QuerySet[CampaignDraft]:
    """Return the drafts of an account, the newest first."""
    return CampaignDraft.objects.filter(owner=account).select_related("corpus")


def begin_draft(*, owner: Account, corpus: Corpus) -> CampaignDraft:
    """Create a draft for `corpus`, with an unused name and defaults for everything else.

    Raises CampaignError if the account has the maximum number.
    """
    return _created(owner, corpus=corpus, fields={"name": _free_name(corpus.name)})


def duplicate_to_draft(*, campaign: Campaign, owner: Account) -> CampaignDraft:
    """Create a draft that copies a campaign: its corpus, tasks and settings; its texts and control items are
    copied when it is opened. Raises CampaignError if the account has the maximum number."""
    return _created(
        owner,
        corpus=campaign.corpus,
        like=campaign,
        settings=settings_of(campaign.settings).as_dict(),
        fields={
            "name": _free_name(campaign.name),
            "tasks": campaign.tasks,
            "open_to_all": "yes" if campaign.open_to_all else "",
        },
    )


def save_step(
    *, draft: CampaignDraft, step: str, data: Mapping[str, str], tasks: str, corpus: Corpus | None = None
) -> None:
    """Store what a step's form submitted, valid or not.

    `tasks`: the draft's tasks so far. `corpus` replaces the draft's if given.
    """
    with database.writing():
        row = _locked(draft)
        names = fields.fields_of_step(step, data.get("tasks") or tasks)
        # Fields that the form did not show stay unchanged: it was made for other tasks.
        visible = set(data.get("shown", "").split()) or set(names)
        row.fields = {**row.fields, **fields.typed_in(data, [name for name in names if name in visible])}
        if corpus is not None and corpus.pk != row.corpus_id:
            row.corpus, row.sample = corpus, {}
        row.save()
    draft.refresh_from_db()


def import_settings(*, draft: CampaignDraft, text: str, tasks: str) -> None:
    """Read all settings from a TOML text, replacing what was typed.

    Raises CampaignError for invalid settings; then nothing changes.
    """
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise CampaignError(_("The settings are not valid TOML: %(error)s") % {"error": error}) from error
    imported = settings_of_tasks(tasks, table)
    names = {declared.name for settings in fields.settings_by_step(tasks).values() for declared in settings}
    with database.writing():
        row = _locked(draft)
        remaining = {name: value for name, value in row.fields.items() if name not in names}
        if not imported.trust.qualification:
            remaining["entry"] = fields.ENTRY_NONE
        elif remaining.get("entry") == fields.ENTRY_NONE:
            del remaining["entry"]
        row.fields, row.settings = remaining, imported.as_dict()
        row.save()
    draft.refresh_from_db()


def throw_away(*, draft: CampaignDraft) -> None:
    """Delete a draft; a campaign that was opened from it stays."""
    CampaignDraft.objects.filter(pk=draft.pk).delete()


def _created(owner: Account, **values: object) -> CampaignDraft:
    if drafts_of(owner).count() >= MOST_DRAFTS:
        raise CampaignError(
            _("You have %(n)d drafts, the most allowed: open or delete some of them first.")
            % {"n": MOST_DRAFTS}
        )
    return CampaignDraft.objects.create(owner=owner, **values)


def _free_name(like: str) -> str:
    """Return an unused campaign name: `like` with the next number appended."""
    stem = like[:80]
    taken = set(Campaign.objects.filter(name__startswith=stem).values_list("name", flat=True))
    return next(name for number in count(1) if (name := f"{stem}-{number}") not in taken)


def _locked(draft: CampaignDraft) -> CampaignDraft:
    return CampaignDraft.objects.select_for_update(of=("self",)).get(pk=draft.pk)
