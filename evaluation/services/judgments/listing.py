"""Judgments and qrels for lists and their own pages."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import Help, Named, result_of
from annotation.selectors.corpora import CORPORA
from evaluation.comparison.query_sets import CAPTION, IMAGE, query_remarks
from evaluation.models import JudgmentSet, QrelsSnapshot
from evaluation.selectors import counts_of
from evaluation.services.stored_kinds import OfCorpusRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRequest(OfCorpusRequest):
    """All judgments of the corpus, the newest first."""

    corpus: Annotated[Annotated[str, Named(CORPORA)] | None, Help(_("Corpus"))] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgmentSummary:
    """A set of judgments: answers about pairs of image and caption. `skipped` pairs of the file are about
    items that the corpus lacks; `simulated`: simulated workers gave the answers."""

    name: str
    corpus: str
    format: str
    pairs: int
    answers: int
    scale: str
    skipped: int
    simulated: bool
    digest: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgmentDetail(JudgmentSummary):
    """A set of judgments, and the qrels that were frozen from it, as NAME:VERSION."""

    qrels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QrelsSummary:
    """One version of qrels: which pairs are relevant. `pool` is the protocol, if nobody judged; `asks` is the
    kind of rankings they are for: image or caption, or, if empty, both."""

    name: str
    version: int
    corpus: str
    judgments: str | None
    pool: str
    subset: str
    rule: str
    originals: bool
    asks: str
    rows: int
    digest: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriesByKind:
    """The number of queries of each kind; null where it is unknown, and only judged ones count."""

    image: int | None
    caption: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QrelsDetail(QrelsSummary):
    """Qrels with their content and versions. Of a batch's judgments, `pairs_judged` of `pairs_selected` had
    enough answers when they were frozen. `remarks` say what is unknown, and how to freeze again."""

    queries: int
    queries_by_kind: QueriesByKind
    pairs_selected: int | None
    pairs_judged: int | None
    remarks: tuple[str, ...]
    relevant: int
    unjudged: int
    versions: tuple[int, ...]


def judgment_summary(row: JudgmentSet) -> JudgmentSummary:
    """Return the summary of a set of judgments, for lists."""
    return result_of(
        JudgmentSummary, row, corpus=row.corpus.name, pairs=row.pair_count, answers=row.answer_count
    )


def judgment_detail(row: JudgmentSet) -> JudgmentDetail:
    """Return all that is stored of a set of judgments."""
    frozen = row.qrels.filter(published=True).order_by("name", "version")
    return JudgmentDetail(
        **asdict(judgment_summary(row)),
        qrels=tuple(f"{snapshot.name}:{snapshot.version}" for snapshot in frozen),
    )


def qrels_summary(row: QrelsSnapshot) -> QrelsSummary:
    """Return the summary of a version of qrels, for lists."""
    return result_of(
        QrelsSummary,
        row,
        corpus=row.corpus.name,
        judgments=row.judgments.name if row.judgments is not None else None,
        rows=row.row_count,
    )


def described_qrels(row: QrelsSnapshot) -> QrelsDetail:
    """Return all that is stored of a version of qrels."""
    counts = counts_of([row])[row.pk]
    every = QrelsSnapshot.objects.filter(name=row.name, published=True).order_by("-version")
    return QrelsDetail(
        **asdict(qrels_summary(row)),
        queries=counts.queries,
        queries_by_kind=QueriesByKind(
            image=counts.queries_by_kind.get(IMAGE), caption=counts.queries_by_kind.get(CAPTION)
        ),
        pairs_selected=row.pairs_selected,
        pairs_judged=row.pairs_judged,
        remarks=() if counts.keywords else tuple(query_remarks(row)),
        relevant=counts.relevant,
        unjudged=counts.unjudged,
        versions=tuple(every.values_list("version", flat=True)),
    )
