"""How far judges agree within a set of judgments, or how far two sets do."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
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
    with_sheet,
)
from annotation.common.readers import read
from annotation.common.roles import RESEARCHER
from evaluation.formats.sent_files import JudgedSet, agreement_of
from evaluation.models import JudgmentSet
from evaluation.selectors import judged_pairs, names_of
from evaluation.services.common import MOST_READ
from evaluation.services.judgments.importing import KEYWORD_FORMATS, REPEATS, judgment_formats
from evaluation.services.request_fields import IntervalRequest
from evaluation.services.stored_kinds import JUDGMENTS_ANYWHERE
from phrasebox.agreement.summary import MOST_THRESHOLDS, AgreementBetween, AgreementWithin
from phrasebox.balance import BalanceSheet
from phrasebox.figure_basis import FigureBasis
from phrasebox.text_files import text_size

_File = Annotated[Path, FileUpload(most=MOST_READ, unpacked=text_size)]
_Judgments = Annotated[str, Named(JUDGMENTS_ANYWHERE, 201)]
_Thresholds = Annotated[tuple[float, ...], Field(max_length=MOST_THRESHOLDS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredJudgments:
    """A set of judgments, or two: each is a file, or judgments that were imported."""

    file: Annotated[_File | None, Help(_("File"), _("Of judgments, or its folder"))] = None
    format: Annotated[str, OneOf(judgment_formats), Help(_("Format of the file"))] = "table"
    judgments: Annotated[
        _Judgments | None, Help(_("Or judgments"), _("That were imported: CORPUS:NAME, or NAME"))
    ] = None
    repeats: Annotated[bool, REPEATS] = False
    against: Annotated[_File | None, Help(_("Second file"), _("Of judgments of the same pairs"))] = None
    against_format: Annotated[str, OneOf(judgment_formats), Help(_("Format of the second file"))] = "table"
    against_judgments: Annotated[_Judgments | None, Help(_("Or second judgments"))] = None
    thresholds: Annotated[_Thresholds, Help(_("Thresholds of the first set"), _("As 4, 3.6, 3"))] = ()
    against_thresholds: Annotated[_Thresholds, Help(_("Thresholds of the second set"))] = ()
    unjudged_is_no: Annotated[
        bool, Help(_("Give pairs that the second set lacks its lowest answer"), _("Else they are left out"))
    ] = False

    def problems(self) -> Iterator[FieldError]:
        """Errors: no set, two sources for one set, and fields that only apply with a second set."""
        if self.file is None and self.judgments is None:
            yield FieldError("judgments", "either", {"other": "file"})
        for file, judgments in (("file", "judgments"), ("against", "against_judgments")):
            if getattr(self, file) is not None and getattr(self, judgments) is not None:
                yield FieldError(judgments, "not_with", {"other": file})
        if self.against is None and self.against_judgments is None:
            for name in ("thresholds", "against_thresholds", "unjudged_is_no"):
                if getattr(self, name):
                    yield FieldError(name, "only_with", {"other": "against"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementRequest(IntervalRequest, MeasuredJudgments):
    """Agreement of the judges of one set of judgments: Krippendorff's alpha, Fleiss' and Cohen's kappa.
    Agreement of two sets: Cohen's kappa of their mean answers, cut at thresholds. A set is a file, or
    imported judgments. Intervals resample whole images (keywords, if these are judged). Nothing is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Agreement `within` a set, or `between` two; `basis` says what the figures are based on, `sheet` what of
    the files was read."""

    within: AgreementWithin | None
    between: AgreementBetween | None
    basis: dict[str, Any]
    sheet: BalanceSheet = BalanceSheet()


@dataclass(frozen=True, slots=True)
class _Source:
    """A set: a file of a format, or a set that was imported; `called` is its description."""

    path: Path | None
    format: str
    row: JudgmentSet | None

    @property
    def called(self) -> str:
        return f"judgments {self.row.name if self.row is not None else self.path.name if self.path else ''}"

    @property
    def unit(self) -> str:
        """The kind of its queries, which intervals resample."""
        return "keyword" if (self.row or self).format in KEYWORD_FORMATS else "image"

    def judged(self, context: OperationContext, *, repeats: bool) -> JudgedSet:
        """The pairs of an imported set, or the file that holds them."""
        if self.row is None:
            return JudgedSet(self.path, self.format, repeats)
        pairs = judged_pairs(self.row, names_of(self.row.corpus.name))
        stored = tuple(context.progress_of(self.row.name, self.row.pair_count)(pairs))
        return JudgedSet(None, self.format, repeats, stored)


@with_sheet
def agreement_of_sets(request: AgreementRequest, context: OperationContext) -> Agreement:
    """Return the agreement of the sets; raises FormatError, AgreementError and UnknownName. A reader reads
    files, and compares them."""
    first = _source(request.file, request.format, request.judgments, context)
    second = _source(request.against, request.against_format, request.against_judgments, context)
    sources = [first] if second.path is None and second.row is None else [first, second]
    sets = [source.judged(context, repeats=request.repeats) for source in sources]
    call = partial(read, agreement_of) if any(source.path for source in sources) else agreement_of
    result = call(
        sets[0],
        sets[1] if len(sets) == 2 else None,
        request.resampling,
        first.unit,
        (request.thresholds, request.against_thresholds),
        request.unjudged_is_no,
    )
    within = result if isinstance(result, AgreementWithin) else None
    between = result if isinstance(result, AgreementBetween) else None
    basis = FigureBasis(
        cases="pairs",
        counted=between.common if between is not None else result.pairs,
        out_of=result.pairs,
        pool=" and ".join(source.called for source in sources),
    )
    return Agreement(within=within, between=between, basis=basis.as_dict())


def _source(path: Path | None, format: str, judgments: str | None, context: OperationContext) -> _Source:
    row: Any = judgments and JUDGMENTS_ANYWHERE.find(judgments, context.actor, (RESEARCHER,))
    return _Source(path, format, row or None)
