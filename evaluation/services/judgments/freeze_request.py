"""The operation that freezes qrels: from judgments, or under a protocol."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import (
    FieldError,
    FileUpload,
    Help,
    Named,
    OneOf,
    OperationContext,
    request_fields,
)
from annotation.selectors.corpora import CORPORA, corpus_named
from evaluation.comparison.query_sets import queries_named
from evaluation.comparison.subsets import Subset, subset_from_file, subset_named
from evaluation.services.common import MOST_READ
from evaluation.services.judgments.freezing import (
    FROM_A_PROTOCOL,
    FROM_JUDGMENT_SET,
    QrelsReport,
    check_next,
    freeze_protocol,
    freeze_qrels,
)
from evaluation.services.judgments.relevance import ScoredAnswers, check_relevance
from evaluation.services.request_fields import check_images
from evaluation.services.stored_kinds import JUDGMENT_SETS
from phrasebox.metrics.protocols import PROTOCOLS
from phrasebox.relevance.grades import GRADED_RULES
from phrasebox.relevance.qrels import RELEVANCE_RULES
from phrasebox.text_files import text_size

#: Fields that only apply together with judgments, and judgments themselves.
_OF_JUDGMENTS = ("judgments", "rule", "relevant_from", "gains", "summary", "originals", "queries")


def _protocols() -> Mapping[str, Any]:
    return dict.fromkeys(PROTOCOLS)


def _rules() -> Mapping[str, Any]:
    return dict.fromkeys((*RELEVANCE_RULES.keys(), *GRADED_RULES.keys()))


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeRequest(ScoredAnswers):
    """Judgments of a corpus by a rule, or only its originals under a protocol, become the next version of
    qrels. If the newest version is the same, nothing changes."""

    name: Annotated[str, Named(), Help(_("Name"))]
    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    judgments: Annotated[
        Annotated[str, Named(JUDGMENT_SETS)] | None,
        Help(_("Judgments"), _("Imported, or collected from a batch")),
    ] = None
    protocol: Annotated[
        Annotated[str, OneOf(_protocols)] | None,
        Help(_("Protocol"), _("Which captions take part: originals alone, without judgments")),
    ] = None
    caption: Annotated[
        Annotated[int, Field(ge=0, le=1000)] | None,
        Help(_("Which caption of each image, from 0"), _("With a protocol; by default the protocol’s")),
    ] = None
    rule: Annotated[
        Annotated[str, OneOf(_rules, none=_("the default"))] | None,
        Help(
            _("Relevance rule"),
            _("For votes, or for grades from 1 to 4; by default majority, and mean_grade for grades"),
        ),
    ] = None
    originals: Annotated[
        bool, Help(_("Originals are relevant"), _("Judged or not; else only as they were judged"))
    ] = True
    queries: Annotated[
        str,
        Field(max_length=200),
        Help(
            _("Queries that were asked"),
            _(
                "run:NAME for those of a run, or a split for its images and their captions; by default "
                "those of the batch; of a file, the images that are chosen, or only the judged queries"
            ),
        ),
    ] = ""
    split: Annotated[
        str,
        Field(max_length=200),
        Help(
            _("Images"),
            _("A split, a fold such as 1/5, or run:NAME for the images that a run ranks; by default all"),
        ),
    ] = ""
    images: Annotated[
        Annotated[Path, FileUpload(most=MOST_READ, unpacked=text_size)] | None,
        Help(_("File of image names"), _("One on each line, instead of a split")),
    ] = None
    fold_seed: Annotated[int, Field(ge=0, le=10**9 - 1), Help(_("Seed of folds"))] = 0

    def problems(self) -> Iterator[FieldError]:
        """Errors: neither judgments nor a protocol, both, and fields that do not apply."""
        if self.judgments is None and self.protocol is None:
            yield FieldError("judgments", "either", {"other": "protocol"})
        if self.protocol is not None:
            fields = request_fields(FreezeRequest)
            for name in _OF_JUDGMENTS:
                if getattr(self, name) != fields[name].default:
                    yield FieldError(name, "not_with", {"other": "protocol"})
            if self.caption is not None and PROTOCOLS[self.protocol].number is None:
                yield FieldError("caption", "not_with", {"other": f"“{self.protocol}”"})
        elif self.caption is not None:
            yield FieldError("caption", "only_with", {"other": "protocol"})
        if self.images is not None and self.split:
            yield FieldError("images", "not_with", {"other": "split"})

    def subset(self, *, by_path: bool) -> Subset | None:
        """Return the requested images, None for all. Raises UnknownName, FormatError, BadSubset."""
        if self.images is not None:
            return subset_from_file(self.corpus, self.images)
        return subset_named(self.corpus, self.split, seed=self.fold_seed, files=by_path)


def check_freezing(request: FreezeRequest, context: OperationContext) -> FreezeRequest:
    """Raise what `freeze` raises before it reads judgments."""
    check_next(
        request.name,
        request.corpus,
        FROM_JUDGMENT_SET if request.judgments is not None else FROM_A_PROTOCOL,
    )
    if request.judgments is not None:
        relevance = request.relevance(request.rule, originals=request.originals)
        check_relevance(request.corpus, request.judgments, relevance)
    corpus = corpus_named(request.corpus)
    for field, text in (("split", request.split), ("queries", request.queries)):
        check_images(field, text, corpus, context, runs=True)
    request.subset(by_path=context.by_path)
    queries_named(request.corpus, request.queries, files=context.by_path)
    return request


def freeze(request: FreezeRequest, context: OperationContext) -> QrelsReport:
    """Freeze; raises as `freeze_qrels` and `freeze_protocol` do, BadScale and BadSubset."""
    subset = request.subset(by_path=context.by_path)
    if request.judgments is None:
        assert request.protocol is not None
        return freeze_protocol(
            name=request.name,
            corpus=request.corpus,
            protocol=request.protocol,
            number=request.caption,
            subset=subset,
            actor=context.actor,
        )
    return freeze_qrels(
        name=request.name,
        corpus=request.corpus,
        judgments=request.judgments,
        relevance=request.relevance(request.rule, originals=request.originals),
        subset=subset,
        queries=queries_named(request.corpus, request.queries, files=context.by_path),
        report_progress=context.report_progress,
        actor=context.actor,
    )
