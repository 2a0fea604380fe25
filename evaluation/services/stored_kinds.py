"""The kinds of stored things of evaluation that requests name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Model, QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.common.operations import StoredKind
from annotation.selectors.scopes import within_scope
from evaluation.models import Batch, JudgmentSet, Run


def rows_of_corpora(model: type[Model], **also: Any) -> Callable[..., QuerySet[Any]]:
    """The rows of a model that belong to a corpus for which an account holds one of its roles."""

    def rows(account: Any, *roles: str) -> QuerySet[Any]:
        found = model._default_manager.filter(**also)
        return found if account is None else found.filter(within_scope(account, *roles, corpus="corpus"))

    return rows


STORED_RUNS = StoredKind(_("run"), rows_of_corpora(Run, published=True))
JUDGMENT_SETS = StoredKind(_("set of judgments"), rows_of_corpora(JudgmentSet, published=True))
BATCHES = StoredKind(_("batch"), rows_of_corpora(Batch))
