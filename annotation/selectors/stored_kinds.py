"""The kinds of stored things that requests name."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.common.operations import StoredKind
from annotation.models import Account, Campaign, Corpus
from annotation.selectors.scopes import campaigns_of, corpora_of


def _corpora(account: Account | None, *roles: str) -> QuerySet[Any]:
    found = Corpus.objects.all() if account is None else corpora_of(account, *roles)
    return found.filter(published=True)


def _campaigns(account: Account | None, *roles: str) -> QuerySet[Any]:
    found = Campaign.objects.all() if account is None else campaigns_of(account, *roles)
    return found.select_related("corpus")


CORPORA = StoredKind(_("corpus"), _corpora)
CAMPAIGNS = StoredKind(_("campaign"), _campaigns, within="campaign")
