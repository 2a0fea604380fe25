"""The kinds of stored objects of evaluation that requests refer to."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from django.db.models import Model, QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.common.operations import Help, Named, StoredKind
from annotation.selectors.corpora import CORPORA, within_scope
from evaluation.models import (
    Batch,
    CaptionSet,
    JudgmentSet,
    LocalizationSet,
    QrelsSnapshot,
    Report,
    Run,
    TagSet,
)
from evaluation.models.stored import StoredRow


@dataclass(frozen=True, slots=True, kw_only=True)
class OfCorpusRequest:
    """A request for the stored objects of all corpora or of one."""

    corpus: Annotated[Annotated[str, Named(CORPORA)] | None, Help(_("Corpus"))] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivableRequest(OfCorpusRequest):
    """The same, without archived objects, or only those."""

    archived: Annotated[bool, Help(_("Archived"), _("Archived ones, instead of those in use"))] = False


def rows_of_corpora(model: type[StoredRow]) -> Callable[..., QuerySet[Any]]:
    """Return a function that selects a model's published rows of corpora for which an account has one of its
    roles."""

    def rows(account: Any, *roles: str) -> QuerySet[Any]:
        published = model._default_manager.filter(published=True)
        return (
            published if account is None else published.filter(within_scope(account, *roles, corpus="corpus"))
        )

    return rows


class _Versions(StoredKind):
    """Versioned objects: NAME is the newest version, NAME:VERSION a specific one."""

    def find(self, name: Any, account: Any, roles: Iterable[str]) -> Model | None:
        """Return the version; None if there is none that the account may use."""
        if not re.fullmatch(self.pattern, name):
            return None
        called, _colon, version = name.partition(":")
        rows = self.rows(account, *roles).filter(name=called)
        return (rows.filter(version=version) if version else rows).order_by("version").last()

    def names(self, account: Any, roles: Iterable[str]) -> Sequence[str]:
        """Return each name with its version, the newest of a name first."""
        rows = self.rows(account, *roles).order_by("name", "-version")
        return [f"{name}:{version}" for name, version in rows.values_list("name", "version")]


class _OfOneCorpus(StoredKind):
    """Objects whose names are unique only within their corpus: CORPUS:NAME, or NAME where one corpus has
    it."""

    def find(self, name: Any, account: Any, roles: Iterable[str]) -> Model | None:
        """Return the row; None if there is none that the account may use, or several."""
        corpus, _colon, called = name.rpartition(":")
        rows = self.rows(account, *roles).filter(name=called)
        matches = list((rows.filter(corpus__name=corpus) if corpus else rows)[:2])
        return matches[0] if len(matches) == 1 else None

    def names(self, account: Any, roles: Iterable[str]) -> Sequence[str]:
        """Return each name with its corpus."""
        rows = self.rows(account, *roles).order_by("corpus__name", "name")
        return [f"{corpus}:{name}" for corpus, name in rows.values_list("corpus__name", "name")]


STORED_RUNS = StoredKind(_("run"), rows_of_corpora(Run))
JUDGMENT_SETS = StoredKind(_("set of judgments"), rows_of_corpora(JudgmentSet))
#: The same for requests in which no other field names the corpus.
JUDGMENTS_ANYWHERE = _OfOneCorpus(
    JUDGMENT_SETS.title, JUDGMENT_SETS.rows, pattern=r"^([-a-zA-Z0-9_]+:)?[-a-zA-Z0-9_]+$"
)
BATCHES = StoredKind(_("batch"), rows_of_corpora(Batch))
CAPTION_SETS = StoredKind(_("caption set"), rows_of_corpora(CaptionSet))
LOCALIZATION_SETS = StoredKind(_("localization set"), rows_of_corpora(LocalizationSet))
REPORTS = StoredKind(_("report"), rows_of_corpora(Report))
TAG_SETS = StoredKind(_("tag set"), rows_of_corpora(TagSet))
QRELS = _Versions(_("set of qrels"), rows_of_corpora(QrelsSnapshot), pattern=r"^[-a-zA-Z0-9_]+(:\d{1,9})?$")
