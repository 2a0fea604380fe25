"""Campaigns: a corpus, the questions asked about it, and the settings they are asked under."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.campaign_settings import CampaignError, settings_of
from annotation.models import Campaign, Corpus, Layer
from annotation.rebuild import check_layer_name
from annotation.selectors.corpora import corpus_named, layer_named

ENTITIES = "entities"
TASKS = (ENTITIES,)
#: Layers that are taken for the truth unless one is named.
GOLD_LAYERS = ("gold", "import")
#: The least crowd that can settle every question.
SMALLEST_CROWD = 4


def open_campaign(
    *, name: str, corpus: str, tasks: str, settings: Mapping[str, Any] | None = None
) -> Campaign:
    """Open a campaign over a published corpus; its settings are frozen as given.

    Opening it again with the same corpus, tasks and settings changes nothing. Its layer will bear
    its name, so names that gold is looked for under are refused.
    """
    check_layer_name(name)
    if name in GOLD_LAYERS:
        raise CampaignError(
            f"a campaign called {name!r} would be taken for the corpus's own layer; choose another name"
        )
    if tasks not in TASKS:
        raise CampaignError(f"unknown tasks {tasks!r}; known: {', '.join(TASKS)}")
    frozen = settings_of(settings or {}).as_dict()
    target = corpus_named(corpus)
    campaign, created = Campaign.objects.get_or_create(
        name=name, defaults={"corpus": target, "tasks": tasks, "settings": frozen}
    )
    if not created and (campaign.corpus_id, campaign.tasks, campaign.settings) != (target.pk, tasks, frozen):
        raise CampaignError(
            f"campaign {name!r} is open already with another corpus or other settings; choose another name"
        )
    return campaign


def campaign_named(name: str) -> Campaign:
    """The campaign of that name; raises CampaignError saying how to open one."""
    found = Campaign.objects.select_related("corpus").filter(name=name).first()
    if found is None:
        raise CampaignError(
            f"there is no campaign {name!r}; open one: open_campaign {name} --corpus CORPUS --tasks entities"
        )
    return found


def gold_layer(corpus: Corpus, name: str | None = None) -> Layer | None:
    """The layer to answer from: the one named, else "gold" or "import" where there is one, else None."""
    if name is not None:
        return layer_named(corpus, name)
    found = {layer.name: layer for layer in corpus.layers.filter(name__in=GOLD_LAYERS, published=True)}
    return next((found[usual] for usual in GOLD_LAYERS if usual in found), None)
