"""Importing judgments of other origin as rows that reference a corpus's images and captions.

They are validated and written in one pass, in chunks, unpublished; one statement at the end publishes them.
The next import of the same name removes what a killed import left.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, cast

from django.db import transaction
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation import audit
from annotation.common import database
from annotation.common.database import chunks, delete_in_pages
from annotation.common.operations import (
    LEAVE_UNUSED,
    FileUpload,
    Help,
    Named,
    OneOf,
    OperationContext,
    check_used,
    with_sheet,
)
from annotation.common.readers import stream
from annotation.selectors.corpora import CORPORA, corpus_named
from evaluation.formats.sent_files import read_judged_pairs
from evaluation.models import JudgmentSet, PairAnswers
from evaluation.selectors import CorpusNames, judgment_set, names_of
from evaluation.services.common import (
    MOST_READ,
    ROWS_PER_INSERT,
    InputError,
    check_file,
    check_name,
    work_lock,
)
from evaluation.services.request_fields import NamedBy, name_spaces
from evaluation.services.stored import remove_stored
from phrasebox.balance import PAIRS, UNKNOWN, BalanceSheet, current_tally
from phrasebox.formats import JUDGMENT_FORMATS, JudgedPair
from phrasebox.formats.tables import KeywordCounts
from phrasebox.names import folded
from phrasebox.relevance.scales import BadScale, Scale, number, scale_named, scale_of
from phrasebox.text_files import text_size

#: Increase this when what the digest covers changes.
_DEFINITION = 1
#: Formats whose queries are keywords. All others have images.
KEYWORD_FORMATS = frozenset({KeywordCounts.key})


@dataclass(frozen=True, slots=True)
class JudgmentsReport:
    """The result of an import. `unchanged`: the set existed already, with the same content."""

    corpus: str
    judgments: str
    source: str
    unchanged: bool
    pairs: int
    answers: int
    digest: str
    seconds: float
    scale: str = ""
    sheet: BalanceSheet = BalanceSheet()


def judgment_formats() -> Mapping[str, Any]:
    """Return the formats of judgments, with their titles."""
    return {key: JUDGMENT_FORMATS.get(key).title for key in JUDGMENT_FORMATS.keys()}


#: The help of the field that says what happens to a pair that occurs twice.
REPEATS = Help(
    _("Count two answers of a pair that occurs twice"),
    _("Where no judge is named; else such a file is refused"),
)


#: The help of the field that says whether judges with nearly the same name are different people.
DISTINCT_JUDGES = Help(
    _("Judges whose names differ in capitals or spaces alone are different people"),
    _("Else such a file is refused"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgmentsImport:
    """Answers of people about pairs of a corpus: votes or grades. All of the file is imported, or nothing;
    where the same judgments are there already, nothing changes."""

    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    file: Annotated[
        Path,
        FileUpload(most=MOST_READ, unpacked=text_size),
        Help(_("File"), _("Packed (.gz) or not; by its path a folder, too")),
    ]
    format: Annotated[str, OneOf(judgment_formats), Help(_("Format"))]
    name: Annotated[Annotated[str, Named()] | None, Help(_("Name"), _("By default that of the format"))] = (
        None
    )
    scale: Annotated[
        Annotated[str, Field(max_length=40)] | None,
        Help(
            _("Scale of the answers"),
            _("Where the format has none: votes, 1-4, or the least and the greatest grade, as 0-5"),
        ),
    ] = None
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False
    repeats: Annotated[bool, REPEATS] = False
    named_by: NamedBy = None
    distinct_judges: Annotated[bool, DISTINCT_JUDGES] = False
    keywords: Annotated[
        Annotated[Path, FileUpload(most=MOST_READ, unpacked=text_size)] | None,
        Help(
            _("List of keywords (keywords.txt)"),
            _("Only for counts of keywords; by path it is found beside the file"),
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgmentsTarget:
    """The set in which judgments are stored: its name, format, source and scale, and whether simulated
    workers answered. `named_by` are the name spaces of images in a file; None if pairs have the names that
    we write. `distinct_judges`: names that look nearly alike are of different judges."""

    corpus: str
    name: str
    format: str
    source: str
    scale: Scale | None = None
    leave_unused: bool = False
    simulated: bool = False
    named_by: tuple[str, ...] | None = None
    distinct_judges: bool = True


@with_sheet
def import_judgments(request: JudgmentsImport, context: OperationContext) -> JudgmentsReport:
    """Import a file of judgments; if they exist with the same content, nothing changes.

    Raises UnknownName for an unknown corpus or format, FormatError for a bad source, BadScale, Busy if
    another process imports the same name, else InputError; then nothing of the import remains.
    """
    began, format = time.monotonic(), request.format
    scale = scale_named(request.scale) if request.scale is not None else None
    reader = JUDGMENT_FORMATS.get(format)
    if scale is not None and reader.scale is not None and scale != reader.scale:
        raise InputError(
            f"format {format!r} has answers on the scale {reader.scale.name}, not {scale.name}; leave it out"
        )
    check_file(request.file, f"judgments in the format {format}")
    target = JudgmentsTarget(
        corpus=request.corpus,
        name=request.name or format,
        format=format,
        source=str(request.file) if context.by_path else request.file.name,
        scale=scale or reader.scale,
        leave_unused=request.leave_unused,
        named_by=name_spaces(request.named_by) or reader.image_names,
        distinct_judges=request.distinct_judges,
    )
    with closing(stream(read_judged_pairs, request.file, format, request.repeats)) as pairs:
        return store_judgments(pairs, target, began=began, actor=context.actor)


def store_judgments(
    pairs: Iterable[JudgedPair],
    target: JudgmentsTarget,
    *,
    began: float | None = None,
    counted: Mapping[str, Sequence[str]] | None = None,
    actor: Any = None,
) -> JudgmentsReport:
    """Store `pairs`, as `import_judgments` does with those of a file. `counted`: as the column of
    JudgmentSet."""
    began = time.monotonic() if began is None else began
    corpus, name, source = target.corpus, target.name, target.source
    check_name(name, "judgments")
    names = names_of(corpus)
    reader = _RowReader(
        names,
        source,
        keywords=target.format in KEYWORD_FORMATS,
        scale=target.scale,
        leave_unused=target.leave_unused,
        named_by=target.named_by,
        distinct_judges=target.distinct_judges,
    )
    with work_lock(f"judgments.{corpus}.{name}", "judgments", name):
        existing = JudgmentSet.objects.filter(corpus=corpus_named(corpus), name=name).first()
        unchanged = existing is not None and existing.published
        rows = reader.rows(pairs)
        if existing is not None and existing.published:
            for _row in rows:
                pass
            if reader.scale is not None and existing.scale not in ("", reader.scale.name):
                raise InputError(
                    f"judgments {name!r} of corpus {corpus!r} already exist with the scale "
                    f"{existing.scale}; choose another name"
                )
            if reader.digest != existing.digest:
                raise InputError(
                    f"judgments {name!r} of corpus {corpus!r} already exist with other content "
                    f"({existing.pair_count} pairs from {existing.source}); choose another name"
                )
        else:
            if existing is not None:
                _sweep(existing)
            _write(rows, reader, target, counted or {}, actor)
    return JudgmentsReport(
        corpus,
        name,
        source,
        unchanged,
        reader.pairs,
        reader.answers,
        reader.digest,
        time.monotonic() - began,
        reader.scale.name if reader.scale else "",
    )


def remove_judgments(*, corpus: str, name: str, actor: Any = None) -> None:
    """Remove judgments with their answers; raises UnknownName, Busy, and PhraseboxError if qrels were
    frozen from them, or a batch collected them."""
    remove_stored(judgment_set(corpus, name), actor)


def digest_of_judgments(*, corpus: str, pairs: Iterable[JudgedPair], source: str, scale: Scale) -> str:
    """Return the digest that `pairs` would have as judgments of `corpus`; raises as storing them does."""
    reader = _RowReader(names_of(corpus), source, keywords=False, scale=scale)
    for _row in reader.rows(pairs):
        pass
    return reader.digest


def _write(
    rows: Iterator[PairAnswers],
    reader: _RowReader,
    target: JudgmentsTarget,
    counted: Mapping[str, Sequence[str]],
    actor: Any,
) -> None:
    judgment_set_row = JudgmentSet.objects.create(
        corpus=corpus_named(target.corpus),
        name=target.name,
        format=target.format,
        source=reader.source,
        counted=counted,
        simulated=target.simulated,
    )
    try:
        for chunk in chunks(rows, ROWS_PER_INSERT):
            for row in chunk:
                row.judgments = judgment_set_row
            with transaction.atomic():
                PairAnswers.objects.bulk_create(chunk)
        database.analyse_tables(reader.pairs, PairAnswers)
        with transaction.atomic():
            JudgmentSet.objects.filter(pk=judgment_set_row.pk).update(
                digest=reader.digest,
                pair_count=reader.pairs,
                answer_count=reader.answers,
                scale=reader.scale.name if reader.scale else "",
                skipped=len(reader.skipped),
                published=True,
            )
            about: dict[str, Any] = {"judgments": target.name, "corpus": target.corpus}
            audit.record(actor=actor, act="add_judgments", **about, digest=reader.digest)
    except BaseException:
        _sweep(judgment_set_row)
        raise


class _RowReader:
    """The state of an import: counts, digest, and the pairs as rows."""

    def __init__(
        self,
        names: CorpusNames,
        source: str,
        *,
        keywords: bool,
        scale: Scale | None = None,
        leave_unused: bool = False,
        named_by: tuple[str, ...] | None = None,
        distinct_judges: bool = True,
    ) -> None:
        self._judges: dict[str, str] | None = None if distinct_judges else {}
        self.names = names
        self.image_of: Mapping[str, int | None] = names.image
        self.caption_of: Mapping[str, int | None] = names.caption
        if named_by is not None:
            self.image_of = names.images_in(source, named_by)
            self.caption_of = names.captions_in(source, named_by)
        self.source = source
        self.keywords = keywords
        self.scale = scale
        self.leave_unused = leave_unused
        self.skipped: list[str] = []
        self.tally = current_tally()
        self.pairs = self.answers = 0
        self._distinct: set[float] = set()
        self._hashed = hashlib.sha256(f"judgments {_DEFINITION}\n".encode())
        self._seen: set[tuple[int | str, int]] = set()

    @property
    def digest(self) -> str:
        return self._hashed.hexdigest()

    def rows(self, pairs: Iterable[JudgedPair]) -> Iterator[PairAnswers]:
        for pair in pairs:
            self.tally.count(PAIRS)
            if lacking := self._lacking(pair):
                self.skipped.append(lacking)
                self.tally.leave(PAIRS, UNKNOWN, 1, lacking)
                continue
            self._check_scale(pair)
            self._check_judges(pair)
            caption = cast(int, self.caption_of[pair.document])
            image = None
            if not self.keywords:
                image = self.image_of[pair.query]
            elif len(pair.query) > 200:
                raise InputError(
                    f"{self.source}: pair {self.pairs + 1} has a keyword of {len(pair.query)} characters; "
                    "expected at most 200"
                )
            key = (pair.query if image is None else image, caption)
            if key in self._seen:
                raise InputError(
                    f"{self.source}: pair {self.pairs + 1}, {pair.query!r} and {pair.document!r}, was "
                    "already judged under another spelling; expected each pair once"
                )
            self._seen.add(key)
            query = pair.query if image is None else self.names.image_name[image]
            self._count(replace(pair, query=query, document=self.names.caption_name[caption]))
            yield PairAnswers(
                position=self.pairs - 1,
                image_id=image,
                keyword="" if image else pair.query,
                caption_id=caption,
                grades=list(pair.grades),
                judges=list(pair.judges),
            )
        if not self.pairs:
            raise InputError(
                f"{self.source}: none of its {len(self.skipped)} pairs is in corpus {self.names.corpus!r} "
                f"(the first: {self.skipped[0]!r}); choose the corpus that was judged"
            )
        self.tally.take(PAIRS, self.pairs)
        check_used(self.tally.sheet(), leave_unused=self.leave_unused)
        if self.scale is None:
            try:
                self.scale = scale_of(self._distinct)
            except BadScale as error:
                raise InputError(f"{self.source}: {error}") from error

    def _lacking(self, pair: JudgedPair) -> str:
        """Return which part of a pair the corpus lacks; "" if it has both."""
        if not self.keywords and self.image_of.get(pair.query) is None:
            return pair.query
        return pair.document if self.caption_of.get(pair.document) is None else ""

    def _check_judges(self, pair: JudgedPair) -> None:
        if self._judges is None:
            return
        for judge in pair.judges:
            other = self._judges.setdefault(folded(judge).casefold(), judge)
            if other != judge:
                raise InputError(
                    f"{self.source}: the judges {other!r} and {judge!r} differ in capitals or spaces alone; "
                    "write one name, or say that they are different people"
                )

    def _check_scale(self, pair: JudgedPair) -> None:
        if self.scale is None:
            self._distinct.update(pair.grades)
            return
        for grade in pair.grades:
            if not self.scale.holds(grade):
                raise InputError(
                    f"{self.source}: pair {self.pairs + 1}, {pair.query!r} and {pair.document!r}, has the "
                    f"answer {number(grade)}, which is not on the scale {self.scale.name}; name a scale "
                    "with all answers"
                )

    def _count(self, pair: JudgedPair) -> None:
        self.pairs += 1
        self.answers += len(pair.grades)
        line = json.dumps([pair.query, pair.document, [float(g) for g in pair.grades], pair.judges])
        self._hashed.update(f"{line}\n".encode())


def _sweep(judgments: JudgmentSet) -> None:
    """Delete an unpublished set, a page of rows at a time."""
    delete_in_pages(PairAnswers.objects.filter(judgments=judgments))
    judgments.delete()
