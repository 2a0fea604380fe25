"""The kinds of stored things that requests name, and requests about one of them or the whole server."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.common.operations import FieldError, Help, Named, StoredKind
from annotation.common.roles import Scope
from annotation.models import Account, Campaign, Corpus
from annotation.selectors.corpora import campaigns_of, corpora_of


def _corpora(account: Account | None, *roles: str) -> QuerySet[Any]:
    corpora = Corpus.objects.all() if account is None else corpora_of(account, *roles)
    return corpora.filter(published=True)


def _campaigns(account: Account | None, *roles: str) -> QuerySet[Any]:
    campaigns = Campaign.objects.all() if account is None else campaigns_of(account, *roles)
    return campaigns.select_related("corpus")


CORPORA = StoredKind(_("corpus"), _corpora)
CAMPAIGNS = StoredKind(_("campaign"), _campaigns, within="campaign")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRequest:
    """A request about a campaign."""

    campaign: Annotated[str, Named(CAMPAIGNS), Help(_("Campaign"))]

    def row(self) -> Campaign:
        """The campaign, with its corpus; the request was admitted, so that it is there."""
        return Campaign.objects.select_related("corpus").get(name=self.campaign)
