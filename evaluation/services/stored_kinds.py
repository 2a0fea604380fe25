"""The kinds of stored things of evaluation that requests name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db.models import Model, QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.common.operations import StoredKind
from annotation.selectors.scopes import within_scope
from evaluation.models import Batch, JudgmentSet, QrelsSnapshot, Report, Run, TagSet


def _of_corpora(model: type[Model], **also: Any) -> Callable[..., QuerySet[Any]]:
    """The rows of a model that belong to a corpus for which an account holds one of its roles."""

    def rows(account: Any, *roles: str) -> QuerySet[Any]:
        found = model._default_manager.filter(**also)
        return found if account is None else found.filter(within_scope(account, *roles, corpus="corpus"))

    return rows


class _Versions(StoredKind):
    """Things in versions: NAME is the newest of a name, NAME:VERSION that one."""

    def find(self, name: str, account: Any, roles: Iterable[str]) -> Model | None:
        """The version that is meant; None where there is none that the account may use."""
        called, _, version = name.partition(":")
        rows = self.rows(account, *roles).filter(name=called)
        return (rows.filter(version=version) if version else rows).order_by("version").last()

    def names(self, account: Any, roles: Iterable[str]) -> Sequence[str]:
        """Each with its version, the newest of a name first."""
        rows = self.rows(account, *roles).order_by("name", "-version")
        return [f"{name}:{version}" for name, version in rows.values_list("name", "version")]


STORED_RUNS = StoredKind(_("run"), _of_corpora(Run, published=True))
JUDGMENT_SETS = StoredKind(_("set of judgments"), _of_corpora(JudgmentSet, published=True))
BATCHES = StoredKind(_("batch"), _of_corpora(Batch))
REPORTS = StoredKind(_("report"), _of_corpora(Report))
TAG_SETS = StoredKind(_("tag set"), _of_corpora(TagSet, published=True))
QRELS = _Versions(
    _("qrels"), _of_corpora(QrelsSnapshot, published=True), pattern=r"^[-a-zA-Z0-9_]+(:\d{1,9})?$"
)
