"""Importing runs (rankings from files) as rows, and exporting them.

A run is one direction over one corpus. TREC runs are imported completely, score matrices and embeddings to a
depth; neither is ever in memory as a whole. Rankings are written in chunks, unpublished; one statement at the
end publishes them.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
from django.db import transaction
from django.utils.translation import gettext_lazy as _
from numpy.typing import NDArray
from pydantic import Field

from annotation.common import database
from annotation.common.database import chunks
from annotation.common.operations import (
    LEAVE_UNUSED,
    FieldError,
    Help,
    Named,
    NewFile,
    OneOf,
    OperationContext,
    check_used,
    with_sheet,
)
from annotation.common.readers import stream
from annotation.selectors.corpora import CORPORA, corpus_named
from evaluation.comparison.conventions import falling_ids, in_order
from evaluation.comparison.scoring import differing_by_ties
from evaluation.formats.sent_files import SentFile, SentMatrix, read_rankings
from evaluation.models import Ranking, Run
from evaluation.selectors import CorpusNames, names_of, rankings_of, run_named, snapshot_named
from evaluation.services.common import InputError, check_file, check_name, work_lock
from evaluation.services.declarations import (
    ARRAYS_UPLOAD,
    IdsBeside,
    TrainedOn,
    count_ids_files,
    declared_training,
)
from evaluation.services.request_fields import NamedBy, name_spaces
from evaluation.services.runs.listing import direction_choices
from evaluation.services.stored_kinds import STORED_RUNS
from evaluation.services.systems import registry
from phrasebox.balance import CAPTIONS, NAMED_IMAGES, PAIRS, QUERIES, BalanceSheet, current_tally
from phrasebox.formats.trec import write_run
from phrasebox.text_files import whole_file

#: Increase this when what the digest covers changes.
_DEFINITION = 1
RUN_FORMATS = ("trec", "scores", "embeddings")
#: The number of items of each ranking that are stored from a score matrix.
RUN_DEPTH = 1_000
#: How equal scores are written to a file: unchanged, or made to differ slightly.
KEEP_TIES, BREAK_TIES = ("keep", "break")


def _format_choices() -> dict[str, Any]:
    return dict.fromkeys(RUN_FORMATS)


def _tie_choices() -> dict[str, Any]:
    return {KEEP_TIES: _("kept"), BREAK_TIES: _("broken")}


#: Number of rankings written at once.
_CHUNK = 100

#: The keys for the rows to which names in a ranking refer.
IMAGE_ROWS, CAPTION_ROWS = "images", "captions"
_RowsOf = Mapping[str, Mapping[str, int | None]]

#: A query, its items best first, their scores; with the names of the source.
NamedRanking = tuple[str, Iterable[str], NDArray[np.float32]]
_Progress = Callable[[Iterable[NamedRanking]], Iterable[NamedRanking]]


@dataclass(frozen=True, slots=True)
class RunReport:
    """The result of an import. `unchanged`: the run existed already, with the same rankings.

    It ranks `items` different images or captions, in `entries` of all rankings together. `remarks` are about
    its embeddings (see `ScoreMatrix.remarks`).
    """

    run: str
    corpus: str
    direction: str
    system: str
    source: str
    unchanged: bool
    queries: int
    items: int
    entries: int
    depth: int
    digest: str
    seconds: float
    remarks: tuple[str, ...] = ()
    sheet: BalanceSheet = BalanceSheet()


@dataclass(frozen=True, slots=True)
class RunMetadata:
    """A run's name and origin; fields as in `Run`, `made_by` as an id."""

    name: str
    direction: str
    system: str
    format: str
    source: str
    source_digest: str
    depth: int
    made_by_id: int | None = None
    split: str = ""
    protocol: str = ""
    seed: int | None = None
    system_digest: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunImport:
    """A file that becomes a run: a TREC run, a matrix of scores, or embeddings of images and captions, in one
    file or in two, of which scores are computed as they are read. If anything is wrong, nothing is imported.
    If the same run already exists, nothing changes."""

    name: Annotated[str, Named(), Help(_("Name"))]
    file: Annotated[
        Path, ARRAYS_UPLOAD, Help(_("File"), _("A TREC run; scores or embeddings (npz, npy, safetensors)"))
    ]
    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"), _("That was ranked"))]
    format: Annotated[str, OneOf(_format_choices), Help(_("Format"))] = RUN_FORMATS[0]
    direction: Annotated[str, OneOf(direction_choices), Help(_("Direction"))] = Run.ANNOTATION
    ids: IdsBeside = ()
    captions: Annotated[
        Annotated[Path, ARRAYS_UPLOAD] | None,
        Help(_("Captions"), _("Embeddings of captions, where the other file has those of images")),
    ] = None
    inner_products: Annotated[
        bool, Help(_("Inner products"), _("Score embeddings by inner products, not by cosines"))
    ] = False
    system: Annotated[
        str, Field(max_length=200), Help(_("System"), _("That made it; by itself the tag of a TREC run"))
    ] = ""
    depth: Annotated[
        int,
        Field(ge=0, le=10**6),
        Help(
            _("Depth"), _("Items of each ranking that are stored; TREC runs are stored whole, with 0 all are")
        ),
    ] = RUN_DEPTH
    trained_on: TrainedOn = ""
    named_by: NamedBy = None
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False

    @property
    def files(self) -> list[Path]:
        """The files to read."""
        return [self.file] if self.captions is None else [self.file, self.captions]

    def problems(self) -> Iterator[FieldError]:
        """Errors of fields that the format does not use."""
        for name in ("captions", "inner_products"):
            if self.format != "embeddings" and getattr(self, name):
                yield FieldError(name, "only_with", {"other": "embeddings"})


@with_sheet
def import_run(request: RunImport, context: OperationContext) -> RunReport:
    """Import a run; if it exists with the same rankings, nothing changes.

    Raises UnknownName, FormatError, Busy, else InputError; then nothing of the import remains.
    """
    name, direction, system, depth = request.name, request.direction, request.system, request.depth
    began = time.monotonic()
    for file in request.files:
        check_file(file, "a run")
    source = " and ".join(file.name if not context.by_path else str(file) for file in request.files)
    if request.inner_products:
        source += ", inner products"
    names, spaces = names_of(request.corpus), name_spaces(request.named_by)
    declared = declared_training(request.trained_on, context)
    images = declared.images()
    upload = SentMatrix(
        format=request.format,
        file=request.file,
        captions=request.captions,
        cosine=not request.inner_products,
    )
    count_ids_files(request.ids)
    with closing(stream(read_rankings, upload, depth, direction == Run.SEARCH)) as parts:
        sent_file = cast(SentFile, next(parts))
        if request.format == "trec":
            system, depth = system or sent_file.tag, 0
        registry.check_declaration(system, request.corpus, declared.trained_on)
        report = _store(
            RunMetadata(
                name, direction, system, request.format, source, digest_of_files(request.files), depth
            ),
            _all_used(cast(Iterator[NamedRanking], parts), leave_unused=request.leave_unused),
            names,
            context.progress_of("rankings", sent_file.number),
            began,
            {IMAGE_ROWS: names.images_in(source, spaces), CAPTION_ROWS: names.captions_in(source, spaces)},
        )
    row = run_named(name)
    requested = registry.requested_by(context)
    registry.link_output(row, system, requested, trained_on=declared.trained_on, images=images)
    if not report.unchanged:
        registry.note_addition("add_run", requested, run=name, corpus=request.corpus)
    tally = current_tally()
    tally.take_others(QUERIES, report.queries)
    tally.take_others(CAPTIONS if direction == Run.ANNOTATION else NAMED_IMAGES, report.items)
    tally.take_others(PAIRS, report.entries)
    return replace(report, remarks=sent_file.remarks)


def _all_used(rankings: Iterator[NamedRanking], *, leave_unused: bool) -> Iterator[NamedRanking]:
    """Yield the rankings of a file, then raise Invalid if something in it is unused, without confirmation."""
    yield from rankings
    check_used(current_tally().sheet(), leave_unused=leave_unused)


def store_run(
    run_metadata: RunMetadata, rankings: Iterable[NamedRanking], corpus: str, *, progress: _Progress = iter
) -> RunReport:
    """Store `rankings`, with the corpus's names, as a run. Raises as `import_run` does."""
    began = time.monotonic()
    check_name(run_metadata.name, "run")
    names = names_of(corpus)
    return _store(
        run_metadata, rankings, names, progress, began, {IMAGE_ROWS: names.image, CAPTION_ROWS: names.caption}
    )


def _store(
    run_metadata: RunMetadata,
    rankings: Iterable[NamedRanking],
    names: CorpusNames,
    progress: _Progress,
    began: float,
    rows_of: _RowsOf,
) -> RunReport:
    reader = _RowReader(names, run_metadata.source, run_metadata.direction, rows_of)
    name, corpus = run_metadata.name, names.corpus
    with work_lock(f"run.{name}", "run", name):
        existing = Run.objects.filter(name=name).first()
        unchanged = existing is not None and existing.published
        rows = reader.rows(progress(rankings))
        if existing is not None and existing.published:
            for _ in rows:
                pass
            if (existing.corpus.name, existing.direction, existing.digest) != (
                corpus,
                run_metadata.direction,
                reader.digest,
            ):
                raise InputError(
                    f"run {name!r} already exists with other rankings or another corpus; choose another name"
                )
        else:
            if existing is not None:
                existing.delete()
            _write(rows, reader, Run.objects.create(corpus=corpus_named(corpus), **asdict(run_metadata)))
    return RunReport(
        name,
        corpus,
        run_metadata.direction,
        run_metadata.system,
        run_metadata.source,
        unchanged,
        reader.queries,
        len(reader.items),
        reader.entries,
        run_metadata.depth,
        reader.digest,
        time.monotonic() - began,
    )


@dataclass(frozen=True, slots=True)
class RunFile:
    """A run that was written: the number of lines, and of queries that have items with equal scores.

    If ties were kept, tools that order tied items themselves may compute other figures for these queries; if
    they were broken, all tools see one order, which the run itself does not state. `differ` is the number of
    queries that do get other figures (None: not requested).
    """

    lines: int
    tied: int
    differ: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRunRequest:
    """Export the run as a new TREC file, whose tag is the name of its system."""

    run: Annotated[str, Named(STORED_RUNS), Help(_("Run"))]
    ties: Annotated[
        str,
        OneOf(_tie_choices),
        Help(_("Equal scores"), _("Stay as they are, or are made to differ slightly, in the run's order")),
    ] = KEEP_TIES
    qrels: Annotated[
        str | None,
        Field(max_length=200),
        Help(_("Qrels"), _("Under which queries are counted for which trec_eval would give other values")),
    ] = None


def export_run(request: ExportRunRequest, context: OperationContext) -> NewFile:
    """Return the run as a file; writing it returns a RunFile."""
    return NewFile(
        f"{request.run}.trec",
        lambda path: write_run_file(request.run, path, ties=request.ties, qrels=request.qrels or ""),
    )


def write_run_file(name: str, out: Path, *, ties: str = KEEP_TIES, qrels: str = "") -> RunFile:
    """Write the run `name` to a new TREC file, with the system's name as its tag.

    Tied items keep their score, so that reading the file gives the same run; with `BREAK_TIES` their scores
    are made to differ slightly, in the run's order, so that no tool reorders them. With `qrels`, counts the
    queries that get other figures from tools that resolve ties, as trec_eval does. Raises UnknownName,
    PhraseboxError, and FormatError for a file that exists already and ids with white space; then no file
    remains.
    """
    run = run_named(name)
    names = names_of(run.corpus.name)
    asks, ranked = (
        (names.image_name, names.caption_name)
        if run.direction == Run.ANNOTATION
        else (names.caption_name, names.image_name)
    )
    tied = 0

    def rankings() -> Iterator[tuple[str, Sequence[str], NDArray[np.float32]]]:
        nonlocal tied
        for query, items, scores in rankings_of(run):
            tied += _tied(scores)
            yield asks[query], [ranked[item] for item in items.tolist()], scores

    tag = run.made_by.name if run.made_by is not None else run.system or run.name
    differ = None
    if qrels:
        reorder = falling_ids(ranked) if ties == KEEP_TIES else in_order
        differ = differing_by_ties(run, snapshot_named(qrels), reorder)
    return RunFile(write_file(out, tag, rankings(), ties=ties), tied, differ)


def tied_queries(run: Run) -> int:
    """Return the number of the run's queries that have items with equal scores."""
    return sum(_tied(scores) for _, _, scores in rankings_of(run))


def _tied(scores: NDArray[np.float32]) -> bool:
    """Whether any scores of a ranking, best first, are equal."""
    return bool((scores[1:] == scores[:-1]).any())


def write_file(
    out: Path,
    tag: str,
    rankings: Iterable[tuple[str, Sequence[str], NDArray[np.float32]]],
    *,
    ties: str = KEEP_TIES,
) -> int:
    """Write rankings to a new TREC file, atomically; returns its number of lines.

    `ties`: as for `export_run`. Raises FormatError for a file that exists already and ids with white space;
    then no file remains.
    """
    with whole_file(out) as part:
        return write_run(part, "_".join(tag.split()), rankings, keep_ties=ties == KEEP_TIES)


class _RowReader:
    """The state of an import: counts, digest, and the rankings as rows."""

    def __init__(self, names: CorpusNames, source: str, direction: str, rows_of: _RowsOf) -> None:
        self.names = names
        self.rows_of = rows_of
        self.source = source
        self.by_image = direction == Run.ANNOTATION
        self.queries = self.entries = 0
        self.items: set[int] = set()
        self._hashed = hashlib.sha256(f"run {_DEFINITION}\n".encode())
        self._seen: set[int] = set()

    @property
    def digest(self) -> str:
        return self._hashed.hexdigest()

    def rows(self, rankings: Iterable[NamedRanking]) -> Iterator[Ranking]:
        images = (self.rows_of[IMAGE_ROWS], self.names.image_name, "image")
        captions = (self.rows_of[CAPTION_ROWS], self.names.caption_name, "caption")
        asks, ranked = (images, captions) if self.by_image else (captions, images)
        for name, items, scores in rankings:
            query = self._known(asks[0], name, asks[2], "as a query")
            if query in self._seen:
                raise InputError(
                    f"{self.source}: {name!r} is a query twice, under two spellings; expected each query once"
                )
            self._seen.add(query)
            ids = [self._known(ranked[0], item, ranked[2], f"for {name!r}") for item in items]
            distinct = set(ids)
            if len(self.items) < len(ranked[1]):
                self.items |= distinct
            if len(distinct) != len(ids):
                raise InputError(
                    f"{self.source}: a ranking of {name!r} contains an item twice, under two spellings; "
                    "expected each item once"
                )
            if not np.isfinite(scores).all():
                raise InputError(
                    f"{self.source}: a score of {name!r} is {scores[~np.isfinite(scores)][0]}; "
                    "expected finite numbers of single precision"
                )
            packed = scores.astype("<f4").tobytes()
            line = "\t".join([asks[1][query], *(ranked[1][item] for item in ids)])
            self._hashed.update(f"{line}\n".encode() + packed)
            yield Ranking(
                position=self.queries,
                image_id=query if self.by_image else None,
                caption_id=None if self.by_image else query,
                items=np.array(ids, dtype="<i8").tobytes(),
                scores=packed,
            )
            self.queries += 1
            self.entries += len(ids)

    def _known(self, index: Mapping[str, int | None], name: str, word: str, where: str) -> int:
        item = index.get(name)
        if item is None:
            raise InputError(
                f"{self.source}: names {name!r} {where}, which is not one of the {word}s of corpus "
                f"{self.names.corpus!r}; use the ids of the corpus, and the right direction"
            )
        return item


def _write(rows: Iterator[Ranking], reader: _RowReader, run: Run) -> None:
    try:
        for chunk in chunks(rows, _CHUNK):
            for row in chunk:
                row.run = run
            with transaction.atomic():
                Ranking.objects.bulk_create(chunk)
        database.analyse_tables(reader.queries, Ranking)
        Run.objects.filter(pk=run.pk).update(
            digest=reader.digest, query_count=reader.queries, entry_count=reader.entries, published=True
        )
    except BaseException:
        run.delete()
        raise


def digest_of_files(files: Iterable[Path]) -> str:
    """Return the SHA-256 of a file's content, or of several files' contents one after the other."""
    hashed = hashlib.sha256()
    for file in files:
        with file.open("rb") as opened:
            while part := opened.read(2**20):
                hashed.update(part)
    return hashed.hexdigest()
