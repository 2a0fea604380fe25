"""Qrels read from files and written to files of other tools.

Imported qrels store their file's pairs unchanged: no originals are added. A file with rankings for images
does not evaluate rankings for captions, unless both are requested.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import (
    LEAVE_UNUSED,
    FieldError,
    FileUpload,
    Help,
    Named,
    NewFile,
    OneOf,
    OperationContext,
    check_used,
    request_fields,
    with_sheet,
)
from annotation.common.readers import stream
from annotation.selectors.corpora import CORPORA, corpus_named
from evaluation.comparison.query_sets import CAPTION, IMAGE, as_queries, queries_named
from evaluation.formats.sent_files import read_qrels_lines
from evaluation.models import QrelsRow, QrelsSnapshot
from evaluation.selectors import CorpusNames, Queries, digest_of_queries, names_of, snapshot_named
from evaluation.services.common import MOST_READ, InputError, check_file
from evaluation.services.judgments.freezing import QrelsReport, freeze_qrels, freeze_rows
from evaluation.services.judgments.importing import (
    DISTINCT_JUDGES,
    REPEATS,
    JudgmentsImport,
    import_judgments,
    judgment_formats,
    remove_judgments,
)
from evaluation.services.judgments.relevance import ScoredAnswers
from evaluation.services.request_fields import NamedBy, check_images, name_spaces
from evaluation.services.runs.files import digest_of_files
from evaluation.services.stored_kinds import QRELS
from phrasebox.balance import PAIRS, UNKNOWN, current_tally
from phrasebox.formats import JUDGMENT_FORMATS
from phrasebox.formats.qrels_files import QRELS_FORMATS, QrelsLine
from phrasebox.metrics.judgments import POOLED
from phrasebox.names import Lookup
from phrasebox.relevance.grades import GREATEST_GAIN
from phrasebox.relevance.qrels import FileRelevance, Qrel, QrelsSettings, rule_named
from phrasebox.text_files import text_size, whole_file

#: The value of `asks` for imported qrels that are for rankings of both directions.
BOTH = "both"
#: How a file names images: by their names, or by the ids that their source gave them.
FILE_NAME, EXTERNAL = "own", "external"


def qrels_formats() -> Mapping[str, Any]:
    """Return the formats of qrels, with their titles."""
    return {key: QRELS_FORMATS.get(key).title for key in QRELS_FORMATS.keys()}


def _sides() -> Mapping[str, Any]:
    return {IMAGE: _("images"), CAPTION: _("captions")}


def _ids() -> Mapping[str, Any]:
    return {FILE_NAME: _("file names"), EXTERNAL: _("ids of the source, as COCO's numbers")}


#: The meanings of names of images and of captions in a file.
_Lookups = Mapping[str, Lookup]


@dataclass(frozen=True, slots=True, kw_only=True)
class QrelsExport:
    """Qrels for other tools. Rows come in the order in which they were imported or frozen."""

    qrels: Annotated[str, Named(QRELS), Help(_("Qrels"), _("NAME, the newest version, or NAME:VERSION"))]
    format: Annotated[str, OneOf(qrels_formats), Help(_("Format"))] = "trec"
    asks: Annotated[
        Annotated[str, OneOf(_sides, none=_("as in the qrels"))] | None,
        Help(_("Queries"), _("What stands as the query; by default what the qrels ask for, else images")),
    ] = None
    ids: Annotated[str, OneOf(_ids), Help(_("Names of images"))] = FILE_NAME
    only_relevant: Annotated[bool, Help(_("Relevant pairs only"), _("With relevance 1"))] = False


def _formats_of_imports() -> Mapping[str, Any]:
    return {**qrels_formats(), **judgment_formats()}


def _rankings() -> Mapping[str, Any]:
    return {**_sides(), BOTH: _("images and captions")}


@dataclass(frozen=True, slots=True, kw_only=True)
class QrelsImport(ScoredAnswers):
    """Qrels that were made elsewhere, as they are: no originals are added. A format of judgments is imported
    as judgments of that name, and frozen without originals. All of the file is imported, or nothing; where
    the newest version is the same, nothing changes."""

    name: Annotated[str, Named(), Help(_("Name"))]
    file: Annotated[
        Path, FileUpload(most=MOST_READ, unpacked=text_size), Help(_("File"), _("Packed (.gz) or not"))
    ]
    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    format: Annotated[str, OneOf(_formats_of_imports), Help(_("Format"))] = "trec"
    asks: Annotated[
        Annotated[str, OneOf(_rankings, none=_("as in the file"))] | None,
        Help(_("Queries of the rankings that it judges"), _("By default those of the file")),
    ] = None
    scale: Annotated[
        Annotated[str, Field(max_length=40)] | None,
        Help(_("Scale of the answers"), _("Votes, 1-4, or the least and the greatest grade, as 0-5")),
    ] = None
    level: Annotated[
        int, Field(ge=1, le=GREATEST_GAIN), Help(_("Lowest relevant grade"), _("Of a format of qrels"))
    ] = 1
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False
    repeats: Annotated[bool, REPEATS] = False
    named_by: NamedBy = None
    distinct_judges: Annotated[bool, DISTINCT_JUDGES] = False
    queries: Annotated[
        str,
        Field(max_length=200),
        Help(
            _("Queries that were asked"),
            _(
                "run:NAME for those of a run, or a split for its images and their captions; by default "
                "those of the file"
            ),
        ),
    ] = ""

    def problems(self) -> Iterator[FieldError]:
        """Errors of fields that do not apply to qrels, or to judgments."""
        of_judgments = ("scale", "relevant_from", "gains", "summary", "repeats", "distinct_judges")
        judged = self.format in JUDGMENT_FORMATS
        fields = request_fields(QrelsImport)
        for name in ("asks", "level") if judged else of_judgments:
            if getattr(self, name) != fields[name].default:
                yield FieldError(name, "not_with", {"other": f"“{self.format}”"})


@with_sheet
def import_qrels(request: QrelsImport, context: OperationContext) -> QrelsReport:
    """Import qrels; if the newest version has the same content, nothing changes.

    Raises UnknownName, FormatError, Busy, BadScale, BadSubset, else InputError; then nothing of the import
    remains.
    """
    name, path, asks, level = request.name, request.file, request.asks, request.level
    check_images("queries", request.queries, corpus_named(request.corpus), context, runs=True)
    query_choice = queries_named(request.corpus, request.queries, files=context.by_path)
    check_file(path, f"qrels in the format {request.format}")
    if request.format in JUDGMENT_FORMATS:
        return _judged(request, query_choice, context)
    names, file_name = names_of(request.corpus), path.name
    rows = list(stream(read_qrels_lines, path, request.format))
    spaces = name_spaces(request.named_by)
    lookups = {IMAGE: names.images_in(file_name, spaces), CAPTION: names.captions_in(file_name, spaces)}
    side = _queries(rows, lookups, asks, file_name, request.corpus)
    known_rows = _known(rows, names, lookups, side, file_name, leave_unused=request.leave_unused)
    queries = query_choice or _queries_in(rows, lookups, side, both=asks == BOTH)
    report = freeze_rows(
        name,
        QrelsSettings(FileRelevance(level), originals=False, queries=digest_of_queries(queries, names)),
        known_rows,
        queries,
        names,
        actor=context.actor,
        source=file_name,
        source_digest=digest_of_files([path]),
        asks="" if asks == BOTH else side,
    )
    return replace(report, excluded=len(rows) - len(known_rows))


def export_qrels(request: QrelsExport, context: OperationContext) -> NewFile:
    """Return qrels as a new file, which is written atomically.

    Images have their file names, or their `EXTERNAL` ids, as COCO's numbers; captions have their own ids.
    Imported qrels are written in the order of their file. Writing raises FormatError for a file that exists
    already or ids that the format cannot hold, and InputError for keywords; then no file remains.
    """
    snapshot, writer = snapshot_named(request.qrels), QRELS_FORMATS.get(request.format)
    side = request.asks or snapshot.asks or IMAGE

    def write(path: Path) -> None:
        rows = _rows_of(snapshot, side, request.ids, only_relevant=request.only_relevant)
        with whole_file(path) as part:
            writer.write(part, rows, side)

    return NewFile(f"{snapshot.name}-{snapshot.version}.{writer.ending}", write)


def _judged(request: QrelsImport, queries: Queries | None, context: OperationContext) -> QrelsReport:
    name, corpus = request.name, request.corpus
    imported = import_judgments(
        JudgmentsImport(
            corpus=corpus,
            file=request.file,
            format=request.format,
            name=name,
            scale=request.scale,
            leave_unused=request.leave_unused,
            repeats=request.repeats,
            named_by=request.named_by,
            distinct_judges=request.distinct_judges,
        ),
        context,
    )
    try:
        frozen = freeze_qrels(
            name=name,
            corpus=corpus,
            judgments=name,
            relevance=request.relevance(originals=False),
            queries=queries,
            actor=context.actor,
        )
    except BaseException:
        if not imported.unchanged:
            remove_judgments(corpus=corpus, name=name, actor=context.actor)
        raise
    (pairs,) = (line for line in imported.sheet.lines if line.kind == PAIRS)
    current_tally().add(imported.sheet)
    return replace(frozen, excluded=pairs.found - pairs.taken)


def _queries(
    rows: Sequence[QrelsLine], lookups: _Lookups, asks: str | None, file_name: str, corpus: str
) -> str:
    """Return the kind of a file's queries: the side on which more of its ids are known; raises InputError.

    A number may be the name of an image and of a caption.
    """
    if asks is not None and asks != BOTH:
        return asks

    def known(queries: str, items: str) -> int:
        asking, judged = lookups[queries], lookups[items]
        return sum(asking.means(query) and judged.means(item) for query, item, _grade in rows)

    of_images, of_captions = known(IMAGE, CAPTION), known(CAPTION, IMAGE)
    if of_images == of_captions:
        what = "match neither images nor captions" if not of_images else "match as many images as captions"
        raise InputError(
            f"{file_name}: its queries {what} of corpus {corpus!r} (the first: {rows[0][0]!r} and "
            f"{rows[0][1]!r}); choose the corpus that was judged, or say what its queries are"
        )
    return IMAGE if of_images > of_captions else CAPTION


def _queries_in(rows: Sequence[QrelsLine], lookups: _Lookups, side: str, *, both: bool) -> Queries:
    """Return the queries of a file that the corpus has, on one side or on both, whatever item is paired with
    them."""
    other_kind = CAPTION if side == IMAGE else IMAGE
    ids = {side: [lookups[side][query] for query, *_rest in rows]}
    if both:
        ids[other_kind] = [lookups[other_kind][item] for _query, item, _grade in rows]
    return as_queries(**{kind: [pk for pk in rows_of if pk is not None] for kind, rows_of in ids.items()})


def _known(
    rows: Iterable[QrelsLine],
    names: CorpusNames,
    lookups: _Lookups,
    queries: str,
    file: str,
    *,
    leave_unused: bool,
) -> list[Qrel]:
    """Return the rows with the corpus's names, images first. Raises InputError, and Invalid if it lacks
    some."""
    asking, judged = lookups[queries], lookups[CAPTION if queries == IMAGE else IMAGE]
    qrels: dict[tuple[int, int], Qrel] = {}
    tally = current_tally()
    for query, item, grade in rows:
        image, caption = asking[query], judged[item]
        if image is None or caption is None:
            tally.pass_over(PAIRS, UNKNOWN, 1, query if image is None else item)
            continue
        if queries == CAPTION:
            image, caption = caption, image
        if (image, caption) in qrels:
            raise InputError(
                f"{file}: {query!r} and {item!r} occur twice, under two spellings; expected each pair once"
            )
        if grade > GREATEST_GAIN:
            raise InputError(
                f"{file}: {query!r} and {item!r} have the relevance {grade}; expected {GREATEST_GAIN} at most"
            )
        qrels[image, caption] = Qrel(
            names.image_name[image], names.caption_name[caption], max(grade, 0), judged=grade != POOLED
        )
    if not qrels:
        raise InputError(
            f"{file}: none of its pairs is in corpus {names.corpus!r}; choose the corpus that was judged"
        )
    tally.take_others(PAIRS, len(qrels))
    check_used(tally.sheet(), leave_unused=leave_unused)
    return list(qrels.values())


def _rows_of(snapshot: QrelsSnapshot, asks: str, ids: str, *, only_relevant: bool) -> Iterator[QrelsLine]:
    """Yield the rows of qrels in the order in which they were written, or by query where sides are
    swapped."""
    rows = QrelsRow.objects.filter(snapshot=snapshot)
    if rows.filter(image__isnull=True).exists():
        raise InputError(
            f"qrels '{snapshot}' have keywords as queries, but these formats are for images and captions; "
            "choose other qrels"
        )
    names = names_of(snapshot.corpus.name)
    called = dict(names.image_name)
    if ids == EXTERNAL:
        theirs = dict(snapshot.corpus.images.exclude(external_id="").values_list("pk", "external_id"))
        shared = Counter(theirs.values())
        # An id that two images share identifies neither.
        called.update({pk: name for pk, name in theirs.items() if shared[name] == 1})
    order = ["pk"] if asks == (snapshot.asks or IMAGE) else ["caption" if asks == CAPTION else "image", "pk"]
    values = rows.order_by(*order).values_list("image_id", "caption_id", "relevance", "judged")
    level = rule_named(snapshot.rule).level
    for image, caption, relevance, judged in values.iterator(5_000):
        grade = relevance if judged or relevance else POOLED
        if only_relevant and grade < level:
            continue
        pair = called[image], names.caption_name[caption]
        yield (*(pair if asks == IMAGE else pair[::-1]), 1 if only_relevant else grade)
