"""Qrels from files and to files: what others published, and what they read.

Imported qrels hold their file's pairs as they are: no originals are added. What a file says of rankings for
images evaluates no rankings for captions, unless one asks for both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from annotation.common.registry import UnknownName
from annotation.formats.files.text import whole_file
from evaluation.comparison.query_sets import CAPTION, IMAGE, as_queries
from evaluation.formats import JUDGMENT_FORMATS
from evaluation.formats.qrels_files import QRELS_FORMATS, QrelsLine
from evaluation.metrics.judged import POOLED
from evaluation.models import QrelsRow, QrelsSnapshot
from evaluation.relevance.grades import GREATEST_GAIN
from evaluation.relevance.qrels import GivenRelevance, Qrel, QrelsSettings, rule_named
from evaluation.selectors import CorpusNames, Queries, digest_of_queries, names_of, snapshot_named
from evaluation.services.common import ImportRefused, check_file, check_name
from evaluation.services.judgments.freezing import QrelsReport, freeze_given, freeze_qrels
from evaluation.services.judgments.importing import (
    NAMED_AT_MOST,
    JudgmentsImport,
    import_judgments,
    remove_judgments,
)
from evaluation.services.judgments.relevance import RelevanceChoice
from evaluation.services.runs.files import digest_of_files

#: What an import is asked for: rankings for images, for captions, or both.
ASKING_SIDES = (IMAGE, CAPTION, "both")
#: How images are called in a file: by their names, or by the ids that their source gave them.
OWN, EXTERNAL = ID_KINDS = ("own", "external")


@dataclass(frozen=True, slots=True)
class Exported:
    """A file of qrels, and how many pairs it holds."""

    qrels: str
    version: int
    file: str
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QrelsImport:
    """A file to be imported as the next version of the qrels `name` of `corpus`.

    A format of judgments is imported as judgments of that name, and frozen by `relevance` without
    originals. Of all others, a pair of relevance `level` or more is relevant. `asks` says what the rankings
    are for that the file judges; by default it is what its queries are, images or captions. Pairs of what
    the corpus lacks are refused, or with `skip_unknown` left out and counted. The queries that were asked are
    those of the file, or `queries`.
    """

    name: str
    corpus: str
    path: Path
    format: str = "trec"
    asks: str = ""
    level: int = 1
    skip_unknown: bool = False
    relevance: RelevanceChoice | None = None
    source: str = ""
    repeats: bool = False
    queries: Queries | None = None


def import_qrels(request: QrelsImport, *, actor: Any = None) -> QrelsReport:
    """Import qrels; where the newest version holds the same, nothing changes.

    Raises UnknownName, FormatError, Busy, else ImportRefused; then nothing of it remains.
    """
    name, path, format, relevance = request.name, request.path, request.format, request.relevance
    asks, level = request.asks, request.level
    check_name(name, "qrels")
    check_file(path, f"qrels in the format {format}")
    if format in JUDGMENT_FORMATS:
        if asks or level != 1:
            raise ImportRefused(
                f"format {format!r} is for judgments, which have no direction and no level; leave both out"
            )
        return _judged(request, actor)
    if format not in QRELS_FORMATS:
        known = ", ".join([*QRELS_FORMATS.keys(), *JUDGMENT_FORMATS.keys()])
        raise UnknownName(f"unknown qrels format {format!r}; known: {known}")
    if request.repeats or (relevance is not None and relevance != RelevanceChoice()):
        raise ImportRefused(
            f"format {format!r} is for relevance, not for answers; give a level instead of a rule"
        )
    if asks not in ("", *ASKING_SIDES):
        raise UnknownName(f"unknown side {asks!r}; known: {', '.join(ASKING_SIDES)}")
    if not 1 <= level <= GREATEST_GAIN:
        raise ImportRefused(f"relevant from {level}: expected 1 to {GREATEST_GAIN}")
    names, told = names_of(request.corpus), request.source or path.name
    rows = list(QRELS_FORMATS.get(format).read(path))
    side = _queries(rows, names, asks, told)
    found, lacking = _known(rows, names, side, told, skip_unknown=request.skip_unknown)
    queries = request.queries or _queries_in(rows, names, side, both=asks == "both")
    report = freeze_given(
        name,
        QrelsSettings(GivenRelevance(level), originals=False, queries=digest_of_queries(queries, names)),
        found,
        queries,
        names,
        actor=actor,
        source=told,
        source_digest=digest_of_files([path]),
        asks="" if asks == "both" else side,
    )
    return replace(report, left_out=len(rows) - len(found), lacking=tuple(lacking[:NAMED_AT_MOST]))


def export_qrels(
    *, name: str, out: Path, format: str = "trec", asks: str = "", ids: str = OWN, only_relevant: bool = False
) -> Exported:
    """Write qrels (NAME, or NAME:VERSION) as a new file, which is whole once it is there.

    Images are called by their file names, or by their `EXTERNAL` ids, as COCO's numbers; captions by their
    own ids. Imported qrels come out in the order of their file. `asks`: what stands as the query, by
    default what the qrels ask for, else images. With `only_relevant`, pairs that are relevant are written
    alone, as 1. Raises UnknownName, FormatError for a file that stands already or ids that the format
    cannot hold, and ImportRefused for keywords; nothing is left then.
    """
    snapshot = snapshot_named(name)
    writer = QRELS_FORMATS.get(format)
    if asks not in ("", IMAGE, CAPTION):
        raise UnknownName(f"unknown side {asks!r}; known: {IMAGE}, {CAPTION}")
    if ids not in ID_KINDS:
        raise UnknownName(f"unknown ids {ids!r}; known: {', '.join(ID_KINDS)}")
    side = asks or snapshot.asks or IMAGE
    with whole_file(out) as part:
        pairs = writer.write(part, _rows_of(snapshot, side, ids, only_relevant=only_relevant), side)
    return Exported(snapshot.name, snapshot.version, str(out), pairs)


def _judged(request: QrelsImport, actor: Any) -> QrelsReport:
    name, corpus, relevance = request.name, request.corpus, request.relevance or RelevanceChoice()
    made = import_judgments(
        JudgmentsImport(
            corpus=corpus,
            path=request.path,
            format=request.format,
            name=name,
            scale=relevance.scale,
            skip_unknown=request.skip_unknown,
            source=request.source,
            repeats=request.repeats,
        ),
        actor=actor,
    )
    how = {"relevance": replace(relevance, originals=False), "queries": request.queries, "actor": actor}
    try:
        frozen = freeze_qrels(name=name, corpus=corpus, judgments=name, **how)
    except BaseException:
        if not made.unchanged:
            remove_judgments(corpus=corpus, name=name)
        raise
    return replace(frozen, left_out=made.skipped, lacking=made.lacking)


def _queries(rows: Sequence[QrelsLine], names: CorpusNames, asks: str, told: str) -> str:
    """What the queries of a file are: the side on which more of its ids are known; raises ImportRefused.

    Numbers may name images and captions alike.
    """
    if asks in (IMAGE, CAPTION):
        return asks
    of_images = sum(query in names.image and item in names.caption for query, item, _ in rows)
    of_captions = sum(query in names.caption and item in names.image for query, item, _ in rows)
    if of_images == of_captions:
        what = "match neither images nor captions" if not of_images else "match as many images as captions"
        raise ImportRefused(
            f"{told}: its queries {what} of corpus {names.corpus!r} (the first: {rows[0][0]!r} and "
            f"{rows[0][1]!r}); choose the corpus that was judged, or name the side of the queries (--asks)"
        )
    return IMAGE if of_images > of_captions else CAPTION


def _queries_in(rows: Sequence[QrelsLine], names: CorpusNames, side: str, *, both: bool) -> Queries:
    """The queries of a file that the corpus has, whatever stands beside them: of a side, or of both."""
    asking, asked = (names.image, names.caption) if side == IMAGE else (names.caption, names.image)
    other = CAPTION if side == IMAGE else IMAGE
    ids = {side: (asking[query] for query, _, _ in rows if query in asking)}
    if both:
        ids[other] = (asked[item] for _, item, _ in rows if item in asked)
    return as_queries(**ids)


def _known(
    rows: Iterable[QrelsLine], names: CorpusNames, queries: str, told: str, *, skip_unknown: bool
) -> tuple[list[Qrel], list[str]]:
    """The rows by what the corpus calls things, images first, and what it lacks; raises ImportRefused."""
    asking, asked = (names.image, names.caption) if queries == IMAGE else (names.caption, names.image)
    found: dict[tuple[int, int], Qrel] = {}
    lacking: dict[str, None] = {}
    for query, item, grade in rows:
        unknown = [name for name, index in ((query, asking), (item, asked)) if name not in index]
        if unknown:
            lacking.update(dict.fromkeys(unknown))
            continue
        image, caption = asking[query], asked[item]
        if queries == CAPTION:
            image, caption = caption, image
        if (image, caption) in found:
            raise ImportRefused(
                f"{told}: {query!r} and {item!r} occur twice, under two spellings; expected each pair once"
            )
        if grade > GREATEST_GAIN:
            raise ImportRefused(
                f"{told}: {query!r} and {item!r} have the relevance {grade}; expected {GREATEST_GAIN} at most"
            )
        found[image, caption] = Qrel(
            names.image_name[image], names.caption_name[caption], max(grade, 0), judged=grade != POOLED
        )
    if lacking and not skip_unknown:
        first = ", ".join(map(repr, list(lacking)[:NAMED_AT_MOST])) + (
            ", ..." if len(lacking) > NAMED_AT_MOST else ""
        )
        raise ImportRefused(
            f"{told}: names {len(lacking)} images or captions that corpus {names.corpus!r} does not "
            f"contain ({first}); leave such pairs out and count them (--skip-unknown), or choose the "
            "corpus that was judged"
        )
    if not found:
        raise ImportRefused(
            f"{told}: none of its pairs is in corpus {names.corpus!r}; choose the corpus that was judged"
        )
    return list(found.values()), list(lacking)


def _rows_of(snapshot: QrelsSnapshot, asks: str, ids: str, *, only_relevant: bool) -> Iterator[QrelsLine]:
    """The rows of qrels in the order in which they were written, or by query where they are turned round."""
    rows = QrelsRow.objects.filter(snapshot=snapshot)
    if rows.filter(image__isnull=True).exists():
        raise ImportRefused(
            f"qrels '{snapshot}' have keywords as queries, but these formats are for images and captions; "
            "choose other qrels"
        )
    names = names_of(snapshot.corpus.name)
    called = dict(names.image_name)
    if ids == EXTERNAL:
        theirs = dict(snapshot.corpus.images.exclude(external_id="").values_list("pk", "external_id"))
        shared = Counter(theirs.values())
        # An id that two images share names neither.
        called.update({pk: name for pk, name in theirs.items() if shared[name] == 1})
    order = ["pk"] if asks == (snapshot.asks or IMAGE) else ["caption" if asks == CAPTION else "image", "pk"]
    plain = rows.order_by(*order).values_list("image_id", "caption_id", "relevance", "judged")
    level = rule_named(snapshot.rule).level
    for image, caption, relevance, judged in plain.iterator(5_000):
        grade = relevance if judged or relevance else POOLED
        if only_relevant and grade < level:
            continue
        pair = called[image], names.caption_name[caption]
        yield (*(pair if asks == IMAGE else pair[::-1]), 1 if only_relevant else grade)
