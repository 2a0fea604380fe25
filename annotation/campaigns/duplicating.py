"""Copying a campaign: its corpus, tasks, settings, texts and control items, without any work."""

from collections.abc import Mapping
from typing import Any

from annotation import instructions
from annotation.audit import record
from annotation.campaigns.opening import create_campaign
from annotation.common import database
from annotation.models import Account, Campaign, Control
from annotation.moderation.control_items.from_answers import COPIED_SOURCE, PROMOTED_SOURCE
from annotation.protocol.campaign_settings import CampaignError
from annotation.quality.controls.authoring import raise_revision


def duplicate_campaign(
    *,
    campaign: Campaign,
    name: str,
    corpus: str | None = None,
    tasks: str | None = None,
    settings: Mapping[str, Any] | None = None,
    open_to_all: bool = False,
    actor: Account | None = None,
) -> Campaign:
    """Create a draft called `name` as a copy of `campaign`, with another corpus, other tasks or settings
    where given.

    The newest texts of its questions are copied, and the active control items if the corpus is the same.
    Answers, workers, invitations and studies are not; nor are named pairs: relevance and grading are opened
    with new pairs. If the draft exists already, it stays unchanged. Raises CampaignError.
    """
    with database.writing():
        copy = create_campaign(
            name=name,
            corpus=corpus or campaign.corpus.name,
            tasks=tasks or campaign.tasks,
            settings=campaign.settings if settings is None else settings,
            open_to_all=open_to_all,
            actor=actor,
        )
        if copy.pk == campaign.pk:
            raise CampaignError(f"campaign {name!r} is the one to be duplicated; choose another name")
        if copy.state != Campaign.DRAFT or copy.controls.exists() or copy.instructions.exists():
            return copy
        for kind in (instructions.CONSENT, *copy.kinds):
            text = instructions.current_text(campaign=campaign, kind=kind)
            if text.version and text.text != instructions.current_text(campaign=copy, kind=kind).text:
                instructions.publish_text(campaign=copy, kind=kind, text=text.text, actor=actor)
        items = 0
        if copy.corpus_id == campaign.corpus_id:
            items = _copy_items(campaign, copy, actor)
        record(actor=actor, act="duplicate_campaign", campaign=copy, of=campaign.name, items=items)
    return copy


def _copy_items(campaign: Campaign, copy: Campaign, actor: Account | None) -> int:
    """Copy the active items of the copy's questions, and return their number.

    Promoted items become copied ones: the answers that they are based on are not in `copy`, so the answers
    given there neither confirm nor contradict them.
    """
    rows = list(Control.objects.filter(campaign=campaign, kind__in=copy.kinds, active=True).order_by("pk"))
    for row in rows:
        row.pk, row.campaign, row.created_by = None, copy, actor
        row._state.adding = True
        if row.source == PROMOTED_SOURCE:
            row.source = COPIED_SOURCE
    Control.objects.bulk_create(rows, batch_size=500)
    if rows:
        raise_revision(copy)
    return len(rows)
