"""Requests about a corpus, a campaign, or the whole server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import FieldError, Help, Named
from annotation.common.roles import Scope
from annotation.models import Campaign, Corpus
from annotation.selectors.stored_kinds import CAMPAIGNS, CORPORA


class ScopeRows(NamedTuple):
    """The corpus or the campaign that something is about; neither: the whole server."""

    corpus: Corpus | None
    campaign: Campaign | None

    @property
    def scope(self) -> Scope:
        """What a role has to be for."""
        if self.campaign is not None:
            return self.campaign.scope
        return Scope(self.corpus.pk if self.corpus is not None else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeRequest:
    """About a corpus and all that belongs to it, about a campaign, or, with neither, the whole server."""

    corpus: Annotated[
        Annotated[str, Named(CORPORA)] | None, Help(_("Corpus"), _("With all that belongs to it"))
    ] = None
    campaign: Annotated[
        Annotated[str, Named(CAMPAIGNS)] | None,
        Help(_("Campaign"), _("Without corpus and campaign: the whole server")),
    ] = None

    def problems(self) -> Iterator[FieldError]:
        """It is about one thing."""
        if self.corpus is not None and self.campaign is not None:
            yield FieldError("campaign", "not_with", {"other": "corpus"})

    def rows(self) -> ScopeRows:
        """What it names."""
        return ScopeRows(
            Corpus.objects.get(name=self.corpus) if self.corpus is not None else None,
            Campaign.objects.get(name=self.campaign) if self.campaign is not None else None,
        )
