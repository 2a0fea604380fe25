"""Freezing qrels as versioned snapshots: from judgments in the database, or from a corpus alone."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from django.db import connection, transaction

from annotation import audit
from annotation.common import database
from annotation.common.database import chunks, delete_in_pages
from annotation.selectors.corpora import corpus_named
from evaluation.comparison.query_sets import (
    CAPTION,
    IMAGE,
    as_queries,
    queries_of_images,
    queries_within,
    store_queries,
)
from evaluation.comparison.subsets import Subset
from evaluation.models import Batch, JudgmentSet, QrelsRow, QrelsSnapshot
from evaluation.selectors import (
    CorpusNames,
    Queries,
    batch_of,
    digest_of_images,
    digest_of_queries,
    judged_pairs,
    judgment_set,
    names_of,
    qrels_of,
    selected_pairs_of,
    snapshot_named,
    stored_queries,
)
from evaluation.services.common import ROWS_PER_INSERT, InputError, check_name, work_lock
from evaluation.services.judgments.importing import KEYWORD_FORMATS
from evaluation.services.judgments.relevance import RelevanceChoice, fitting_rule
from evaluation.services.phases import ProgressCallback, part_of_progress, report_steps, silent
from evaluation.services.stored import remove_stored
from phrasebox.balance import BalanceSheet
from phrasebox.formats import JudgedPair
from phrasebox.metrics.protocols import protocol_named, select
from phrasebox.relevance.qrels import (
    Qrel,
    Qrels,
    QrelsSettings,
    freeze_pairs,
    next_version,
    relevant_by_rule,
    rule_named,
)

_Pairs = Sequence[tuple[str, str]]

#: Origins of qrels, as text.
FROM_JUDGMENT_SET, FROM_A_PROTOCOL, FROM_A_FILE = _KINDS = ("judgments", "a protocol", "a file")

#: There are many simple rows: raw SQL takes half the time of `bulk_create`.
_ROW = "(%s, %s, %s, %s, %s, %s)"
_INSERT = (
    f"INSERT INTO {QrelsRow._meta.db_table} "
    "(snapshot_id, image_id, keyword, caption_id, relevance, judged) VALUES "
)


@dataclass(frozen=True, slots=True)
class QrelsReport:
    """A snapshot. `unchanged`: the newest of its name already has the same content and the same origin.

    `queries_by_kind` counts the queries by kind ("image", "caption"), where they are known, and `queries`
    those of the side that the qrels are for, or the judged ones. `by_rule` is how many pairs would be
    relevant under each rule of its kind; `pool` describes the protocol, and is empty otherwise. `excluded`
    pairs are outside the subset, or about items that the corpus lacks. `sheet` is that of an import. `asks`
    is the kind of rankings that it is for, "" for both. Of a batch's judgments, `pairs_judged` of the
    `pairs_selected` had enough answers.
    """

    qrels: str
    version: int
    settings: str
    digest: str
    unchanged: bool
    queries_by_kind: dict[str, int]
    queries: int
    rows: int
    relevant: int
    unjudged: int
    by_rule: dict[str, int]
    pool: str = ""
    subset: str = ""
    excluded: int = 0
    sheet: BalanceSheet = BalanceSheet()
    asks: str = ""
    pairs_selected: int | None = None
    pairs_judged: int | None = None


def freeze_qrels(
    *,
    name: str,
    corpus: str,
    judgments: str,
    relevance: RelevanceChoice | None = None,
    subset: Subset | None = None,
    queries: Queries | None = None,
    report_progress: ProgressCallback = silent,
    actor: Any = None,
) -> QrelsReport:
    """Freeze the published `judgments` of `corpus` as the next version of the qrels `name`.

    The queries are those that the batch's runs rank for, whatever was answered. For judgments from files they
    are `queries`, else the images of a `subset` with their captions; without either they are unknown. Where
    originals are relevant, each query has its own, judged or not: a caption has its image, an image has its
    captions of the numbers in use; not in a corpus of candidates. With a `subset`, only its images and their
    own captions are included. If the newest version has the same rows, and its judgments the same answers,
    nothing changes; different answers that lead to the same rows make a new version, since a version refers
    to its judgments.

    Raises UnknownName for an unknown name or rule, Busy, else InputError.
    """
    relevance = relevance or RelevanceChoice()
    requested_rule = rule_named(relevance.rule) if relevance.rule is not None else None
    check_name(name, "qrels")
    source = judgment_set(corpus, judgments)
    names = names_of(corpus)
    originals = relevance.originals and not names.candidates
    read = list(
        report_steps(
            judged_pairs(source, names),
            total=source.pair_count,
            report_progress=part_of_progress(report_progress, 0.0, 0.4),
            phase="reading judgments",
        )
    )
    # A keyword may be spelt like an image's name.
    images = {} if source.format in KEYWORD_FORMATS else names.image
    some = sorted(subset.images) if subset else []
    pairs = read if subset is None else [pair for pair in read if _inside(pair, subset, names, images)]
    if not pairs:
        raise InputError(f"judgments {judgments!r} contain no pair of {subset.called if subset else corpus}")
    batch = batch_of(source)
    numbers = {names.number[names.caption[pair.document]] for pair in pairs}
    if batch is not None:
        numbers = set(batch.numbers["caption_numbers"])
    requested_queries = _requested_queries(source, batch, queries, subset, names, numbers)
    settings = QrelsSettings(
        fitting_rule(relevance, requested_rule, source),
        originals,
        digest_of_images(some, names),
        digest_of_queries(requested_queries, names),
    )
    original_pairs = _originals(pairs, names, images, requested_queries, numbers) if originals else []
    called = subset.called if subset else ""
    content = _Content(
        pairs,
        original_pairs,
        queries=requested_queries,
        of_batch=_judged_of_batch(batch, pairs, subset, names),
    )
    origin = {"judgments": source, "subset": called, "images": some}
    report = _freeze(name, settings, content, names, images, report_progress, actor=actor, **origin)
    return replace(report, subset=called, excluded=len(read) - len(pairs))


def _requested_queries(
    source: JudgmentSet,
    batch: Batch | None,
    queries: Queries | None,
    subset: Subset | None,
    names: CorpusNames,
    numbers: Collection[int],
) -> Queries:
    """Return the queries that judgments are for, by kind; kinds whose queries are unknown are missing."""
    stored = stored_queries(batch) if batch is not None else {}
    if stored:
        if queries:
            raise InputError(
                f"judgments {source.name!r} are from a batch, which stores its queries; name none"
            )
        return queries_within(stored, subset, names)
    if source.format in KEYWORD_FORMATS:
        if queries:
            raise InputError(f"judgments {source.name!r} have keywords as queries; name none")
        return {}
    if queries:
        return queries_within(queries, subset, names)
    return {} if subset is None else queries_of_images(subset.images, names, numbers)


def _judged_of_batch(
    batch: Batch | None, pairs: Sequence[JudgedPair], subset: Subset | None, names: CorpusNames
) -> dict[str, int]:
    """Return the number of pairs that a batch asked about, and of those for which the judgments have enough
    answers."""
    if batch is None:
        return {}
    pairs_selected = {
        (image, caption)
        for image, caption in selected_pairs_of(batch)
        if subset is None or subset.images.issuperset((image, names.owner[caption]))
    }
    enough = {
        (names.image[pair.query], names.caption[pair.document])
        for pair in pairs
        if len(pair.grades) >= batch.judges
    }
    return {"pairs_selected": len(pairs_selected), "pairs_judged": len(pairs_selected & enough)}


def _inside(pair: JudgedPair, subset: Subset, names: CorpusNames, images: Mapping[str, int]) -> bool:
    """Whether a pair is of an image of the subset, or a keyword, and of a caption of such an image."""
    image = images.get(pair.query)
    there = image is None or image in subset.images
    return there and names.owner[names.caption[pair.document]] in subset.images


def freeze_protocol(
    *,
    name: str,
    corpus: str,
    protocol: str,
    number: int | None = None,
    subset: Subset | None = None,
    actor: Any = None,
) -> QrelsReport:
    """Freeze the originals of `corpus` under a protocol of `metrics.protocols`; no judgments are needed.

    `number` is the caption of each image where the protocol takes one; `subset` restricts the images. Items
    that are not among the rows are ignored when a run is scored. Raises as `freeze_qrels` does.
    """
    check_name(name, "qrels")
    names = names_of(corpus)
    if names.candidates:
        raise InputError(
            f"corpus {corpus!r} has captions that are to be judged, and no originals; freeze judgments "
            "instead"
        )
    chosen = [image for image in names.image_name if subset is None or image in subset.images]
    index_of_image = {image: number for number, image in enumerate(chosen)}
    captions = [caption for caption, owner in names.owner.items() if owner in index_of_image]
    called = [names.image_name[image] for image in chosen]
    try:
        selection = select(
            protocol, [index_of_image[names.owner[c]] for c in captions], images=called, number=number
        )
        chosen_protocol = protocol_named(protocol)
    except ValueError as error:
        raise InputError(f"corpus {corpus!r}: {error}") from error
    original_pairs = [
        (called[owner], names.caption_name[captions[caption]])
        for caption, owner in zip(selection.captions.tolist(), selection.owner.tolist(), strict=True)
    ]
    queries = as_queries(image=chosen, caption=[captions[caption] for caption in selection.captions.tolist()])
    pool = [
        chosen_protocol.name,
        f"number {selection.number}" if selection.number is not None else "",
        subset.called if subset else "",
    ]
    pool_text = ", ".join(part for part in pool if part)
    content = _Content(originals=original_pairs, queries=queries)
    settings = QrelsSettings(queries=digest_of_queries(queries, names))
    return _freeze(name, settings, content, names, names.image, actor=actor, pool=pool_text)


def check_next(name: str, corpus: str, kind: str) -> QrelsSnapshot | None:
    """Return the newest version of the qrels `name`, None if there is none.

    Raises InputError for an invalid name, and for qrels of another corpus or of another of `_KINDS`.
    """
    check_name(name, "qrels")
    last = QrelsSnapshot.objects.filter(name=name, published=True).order_by("version").last()
    if last is None:
        return None
    if last.corpus_id != corpus_named(corpus).pk:
        raise InputError(f"qrels {name!r} already exist for another corpus; choose another name")
    if (was := _kind_of(last.pool, last.source)) != kind:
        raise InputError(
            f"qrels {name!r} already exist and are from {was}, not from {kind}; choose another name"
        )
    return last


def remove_qrels(*, name: str, actor: Any = None) -> None:
    """Remove one version (NAME:VERSION, or NAME for the newest) with its rows; its sources stay.

    Raises UnknownName, Busy, and PhraseboxError if a report was made from it.
    """
    remove_stored(snapshot_named(name), actor)


def freeze_rows(
    name: str,
    settings: QrelsSettings,
    rows: Sequence[Qrel],
    queries: Queries,
    names: CorpusNames,
    *,
    actor: Any = None,
    **source: Any,
) -> QrelsReport:
    """Store the given rows, each pair once, as the next version of `name`; raises as `freeze_qrels` does.

    They keep their order. `source` are columns of the snapshot that say where they are from.
    """
    report = _freeze(
        name, settings, _Content(fixed_rows=rows, queries=queries), names, names.image, actor=actor, **source
    )
    return replace(report, asks=source.get("asks", ""))


@dataclass(frozen=True, slots=True)
class _Content:
    """The content of qrels: `fixed_rows` in their imported order, or the pairs and originals from which rows
    are computed; the queries; and how much of a batch was judged, as columns of the snapshot."""

    pairs: list[JudgedPair] = field(default_factory=list)
    originals: _Pairs = field(default_factory=list)
    fixed_rows: Sequence[Qrel] | None = None
    queries: Queries = field(default_factory=dict)
    of_batch: Mapping[str, int] = field(default_factory=dict)


def _freeze(
    name: str,
    settings: QrelsSettings,
    content: _Content,
    names: CorpusNames,
    asking: Mapping[str, int],
    report_progress: ProgressCallback = silent,
    *,
    actor: Any = None,
    **source: Any,
) -> QrelsReport:
    """Store the next version of `name`, unless the newest has the same content; `source` says what it is made
    from."""
    corpus = corpus_named(names.corpus)
    with work_lock(f"qrels.{name}", "qrels", name):
        existing = QrelsSnapshot.objects.filter(name=name).order_by("version")
        for leftover in existing.filter(published=False):
            _sweep(leftover)
        last = check_next(name, names.corpus, _kind_of(source.get("pool", ""), source.get("source", "")))
        previous = qrels_of(last, names) if last else None
        same = last is None or is_frozen_from(last, **source)
        try:
            content_version = (
                freeze_pairs(
                    content.pairs,
                    name=name,
                    settings=settings,
                    originals=content.originals,
                    previous=previous,
                    same_source=same,
                )
                if content.fixed_rows is None
                else next_version(
                    Qrels(name, 1, settings, tuple(sorted(content.fixed_rows))), previous, same_source=same
                )
            )
        except ValueError as error:
            raise InputError(f"judgments of corpus {names.corpus!r}: {error}") from error
        if content_version is not previous:
            content_version = replace(
                content_version, version=max(content_version.version, _newest_version(name) + 1)
            )
            snapshot = QrelsSnapshot.objects.create(
                corpus=corpus,
                name=name,
                version=content_version.version,
                rule=settings.rule.name,
                originals=settings.originals,
                digest=content_version.digest,
                row_count=len(content_version.rows),
                **content.of_batch,
                **source,
            )
            store_queries(snapshot, content.queries)
            _write(
                content.fixed_rows or content_version.rows, snapshot, names, asking, report_progress, actor
            )
    return QrelsReport(
        qrels=name,
        version=content_version.version,
        settings=content_version.settings.described(),
        digest=content_version.digest,
        unchanged=content_version is previous,
        queries_by_kind=(counts := {kind: len(ids) for kind, ids in content.queries.items()}),
        queries=counts.get(source.get("asks") or IMAGE, len({row.query for row in content_version.rows})),
        rows=len(content_version.rows),
        relevant=sum(row.relevance >= settings.rule.level for row in content_version.rows),
        unjudged=sum(not row.judged for row in content_version.rows),
        by_rule=relevant_by_rule(content.pairs, content.originals, like=settings.rule),
        pool=source.get("pool", ""),
        pairs_selected=content.of_batch.get("pairs_selected"),
        pairs_judged=content.of_batch.get("pairs_judged"),
    )


def _kind_of(pool: str, source: str) -> str:
    """Return the origin of qrels as text, one of `_KINDS`."""
    return FROM_A_PROTOCOL if pool else FROM_A_FILE if source else FROM_JUDGMENT_SET


def is_frozen_from(
    snapshot: QrelsSnapshot,
    judgments: JudgmentSet | None = None,
    pool: str = "",
    subset: str = "",
    source: str = "",
    source_digest: str = "",
    asks: str = "",
    images: Sequence[int] = (),
) -> bool:
    """Whether the snapshot was made from judgments with the same answers, or from the same protocol or
    file."""
    snapshot_judgments = snapshot.judgments
    if (snapshot.subset, list(snapshot.images), snapshot.asks) != (subset, list(images), asks):
        return False
    if snapshot_judgments is None or judgments is None:
        return snapshot_judgments is judgments and (snapshot.pool, snapshot.source_digest) == (
            pool,
            source_digest,
        )
    return snapshot_judgments == judgments or (snapshot_judgments.digest, snapshot_judgments.counted) == (
        judgments.digest,
        judgments.counted,
    )


def _originals(
    pairs: list[JudgedPair],
    names: CorpusNames,
    asking: Mapping[str, int],
    queries: Queries,
    numbers: Collection[int],
) -> _Pairs:
    """Return the originals of each query: a caption's image, and an image's own captions with one of
    `numbers`.

    If the image queries are unknown, they are the images of the pairs and of their captions; if the caption
    queries are unknown, they are the captions of the pairs.
    """
    if not asking:
        raise InputError(
            "the judgments have keywords as queries, and keywords have no originals; freeze without originals"
        )
    judged = {names.caption[pair.document] for pair in pairs}
    images = {asking[pair.query] for pair in pairs} | {names.owner[caption] for caption in judged}
    images = set(queries[IMAGE].tolist()) if IMAGE in queries else images
    captions = set(queries[CAPTION].tolist()) if CAPTION in queries else judged
    return [
        (names.image_name[owner], names.caption_name[caption])
        for caption, owner in names.owner.items()
        if caption in captions or (owner in images and names.number[caption] in numbers)
    ]


def _write(
    qrels: Sequence[Qrel],
    snapshot: QrelsSnapshot,
    names: CorpusNames,
    asking: Mapping[str, int],
    report_progress: ProgressCallback,
    actor: Any,
) -> None:
    rows = report_steps(
        qrels,
        total=len(qrels),
        report_progress=part_of_progress(report_progress, 0.5, 1.0),
        phase="writing qrels",
    )
    try:
        for chunk in chunks(rows, ROWS_PER_INSERT):
            values = (
                (
                    *(snapshot.pk, asking.get(row.query), "" if row.query in asking else row.query),
                    *(names.caption[row.document], row.relevance, row.judged),
                )
                for row in chunk
            )
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(_INSERT + ", ".join([_ROW] * len(chunk)), list(chain.from_iterable(values)))
        database.analyse_tables(len(qrels), QrelsRow)
        with transaction.atomic():
            QrelsSnapshot.objects.filter(pk=snapshot.pk).update(published=True)
            about: dict[str, Any] = {"qrels": f"{snapshot.name}:{snapshot.version}", "corpus": names.corpus}
            audit.record(actor=actor, act="freeze_qrels", **about, digest=snapshot.digest)
    except BaseException:
        _sweep(snapshot)
        raise


def _newest_version(name: str) -> int:
    """Return the highest version ever used under this name, 0 for none. Tables cite NAME:VERSION, so the
    version of removed qrels is not reused."""
    logged = audit.audit_values("freeze_qrels", "qrels", f"{name}:")
    versions = (qrels.rpartition(":")[2] for qrels in logged)
    return max((int(version) for version in versions if version.isdecimal()), default=0)


def _sweep(snapshot: QrelsSnapshot) -> None:
    delete_in_pages(QrelsRow.objects.filter(snapshot=snapshot))
    snapshot.delete()
