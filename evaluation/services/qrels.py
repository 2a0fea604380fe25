"""Frozen, versioned snapshots of qrels: from judgments in the database, or from a corpus alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.db import connection, transaction

from annotation import sql
from annotation.portions import chunks, delete_in_pages
from annotation.selectors.corpora import check_split, corpus_named
from evaluation.formats.base import JudgedPair
from evaluation.formats.flickr8k_judgments import Flickr8kExpert
from evaluation.grades import MEAN_GRADE, GradedRule
from evaluation.metrics.protocols import protocol_named, select
from evaluation.models import JudgmentSet, QrelsRow, QrelsSnapshot
from evaluation.qrels import (
    MAJORITY,
    AnyRule,
    Qrels,
    QrelsSettings,
    freeze,
    relevant_by_rule,
    rule_named,
)
from evaluation.selectors import Names, judgment_set, names_of, pairs_of, qrels_of
from evaluation.services.judgments import KEYWORD_FORMATS
from evaluation.services.phases import Tell, over, part, silent
from evaluation.services.writing import CHUNK, ImportRefused, alone, check_name

Pairs = Sequence[tuple[str, str]]

#: Formats that hold grades for certain, though all of them should be 1, which elsewhere is a yes.
GRADED_FORMATS = (Flickr8kExpert.key, "batch-graded")

#: Rows are plain, and there are many: written as SQL, they take half the time of `bulk_create`.
_ROW = "(%s, %s, %s, %s, %s, %s)"
_INSERT = (
    f"INSERT INTO {QrelsRow._meta.db_table} "
    "(snapshot_id, image_id, keyword, caption_id, relevance, judged) VALUES "
)


@dataclass(frozen=True, slots=True)
class QrelsReport:
    """A snapshot. `unchanged`: the newest of its name holds the same already, made of the same.

    `by_rule` is how many pairs would be relevant under each rule of its kind; `pool` describes the
    protocol, and is empty where judgments were frozen.
    """

    qrels: str
    version: int
    settings: str
    digest: str
    unchanged: bool
    queries: int
    rows: int
    relevant: int
    unjudged: int
    by_rule: dict[str, int]
    pool: str = ""


def freeze_qrels(
    *,
    name: str,
    corpus: str,
    judgments: str,
    rule: str | None = None,
    originals: bool = True,
    tell: Tell = silent,
) -> QrelsReport:
    """Freeze the published `judgments` of `corpus` as the next version of the qrels `name`.

    Unless a `rule` is named, votes are frozen by `majority` and grades by `mean_grade`.
    With `originals` every image that was asked about, or whose caption was judged, has its own captions
    of the numbers that were judged as relevant, judged or not. Where the newest version holds the same, and
    its judgments the same answers, nothing changes; other answers that lead to the same rows make a new
    version, since a version tells its judgments. Raises UnknownName for a name or rule nobody knows, Busy,
    else ImportRefused.
    """
    asked = rule_named(rule) if rule is not None else None
    check_name(name, "qrels")
    source = judgment_set(corpus, judgments)
    names = names_of(corpus)
    found = pairs_of(source, names)
    pairs = list(over(found, total=source.pair_count, tell=part(tell, 0.0, 0.4), phase="reading judgments"))
    settings = QrelsSettings(_fitting(asked, source, pairs), originals)
    # A keyword may be spelt as an image is called.
    images = {} if source.format in KEYWORD_FORMATS else names.image
    own = _originals(pairs, names, images) if originals else []
    return _freeze(name, settings, pairs, own, names, images, tell=tell, judgments=source)


def freeze_protocol(
    *, name: str, corpus: str, protocol: str, number: int | None = None, split: str | None = None
) -> QrelsReport:
    """Freeze the originals of `corpus` under a protocol of `metrics.protocols`; nobody has to judge.

    `number` is the caption of each image where the protocol takes one; `split` restricts the images. What
    is not among the rows does not take part when a run is scored. Raises as `freeze_qrels` does.
    """
    check_name(name, "qrels")
    row = corpus_named(corpus)
    if split is not None:
        check_split(row, split)
    names = names_of(corpus)
    images = row.images.order_by("position")
    chosen = list((images.filter(split=split) if split is not None else images).values_list("pk", flat=True))
    place = {image: number for number, image in enumerate(chosen)}
    captions = [caption for caption, owner in names.owner.items() if owner in place]
    called = [names.image_name[image] for image in chosen]
    try:
        found = select(protocol, [place[names.owner[c]] for c in captions], images=called, number=number)
        asked = protocol_named(protocol)
    except ValueError as error:
        raise ImportRefused(f"corpus {corpus!r}: {error}") from error
    own = [
        (called[owner], names.caption_name[captions[caption]])
        for caption, owner in zip(found.captions.tolist(), found.owner.tolist(), strict=True)
    ]
    wanted = asked.number if number is None else number
    pool = [asked.name, f"number {wanted}" if wanted is not None else "", f"split {split}" if split else ""]
    return _freeze(
        name, QrelsSettings(), [], own, names, names.image, pool=", ".join(part for part in pool if part)
    )


def _freeze(
    name: str,
    settings: QrelsSettings,
    pairs: list[JudgedPair],
    originals: Pairs,
    names: Names,
    asking: Mapping[str, int],
    tell: Tell = silent,
    **source: Any,
) -> QrelsReport:
    """The next version of `name`, unless the newest holds the same; `source` says what it is made of."""
    corpus = corpus_named(names.corpus)
    with alone(f"qrels.{name}", "qrels", name):
        standing = QrelsSnapshot.objects.filter(name=name).order_by("version")
        for leftover in standing.filter(published=False):
            _sweep(leftover)
        last = standing.filter(published=True).last()
        if last is not None and last.corpus_id != corpus.pk:
            raise ImportRefused(f"qrels {name!r} are of another corpus; choose another name")
        if last is not None and bool(last.pool) != bool(source.get("pool")):
            kinds = ("a protocol", "judgments") if last.pool else ("judgments", "a protocol")
            raise ImportRefused(
                f"qrels {name!r} are from {kinds[0]}, not from {kinds[1]}; choose another name"
            )
        previous = qrels_of(last, names) if last else None
        try:
            made = freeze(
                pairs,
                name=name,
                settings=settings,
                originals=originals,
                previous=previous,
                same_source=last is None or is_made_of(last, **source),
            )
        except ValueError as error:
            raise ImportRefused(f"judgments of corpus {names.corpus!r}: {error}") from error
        if made is not previous:
            snapshot = QrelsSnapshot.objects.create(
                corpus=corpus,
                name=name,
                version=made.version,
                rule=settings.rule.name,
                originals=settings.originals,
                digest=made.digest,
                row_count=len(made.rows),
                **source,
            )
            _write(made, snapshot, names, asking, tell)
    return QrelsReport(
        qrels=name,
        version=made.version,
        settings=made.settings.described(),
        digest=made.digest,
        unchanged=made is previous,
        queries=len({row.query for row in made.rows}),
        rows=len(made.rows),
        relevant=sum(row.relevance >= settings.rule.level for row in made.rows),
        unjudged=sum(not row.judged for row in made.rows),
        by_rule=relevant_by_rule(pairs, originals, like=settings.rule),
        pool=source.get("pool", ""),
    )


def is_made_of(snapshot: QrelsSnapshot, judgments: JudgmentSet | None = None, pool: str = "") -> bool:
    """Whether the snapshot was made of judgments that hold the same answers, or of the same protocol."""
    own = snapshot.judgments
    if own is None or judgments is None:
        return own is judgments and snapshot.pool == pool
    return own == judgments or (own.digest, own.counted) == (judgments.digest, judgments.counted)


def _fitting(asked: AnyRule | None, source: JudgmentSet, pairs: Sequence[JudgedPair]) -> AnyRule:
    """The rule asked for, or the usual one of the kind of answers; refused where it is of the other kind."""
    graded = source.format in GRADED_FORMATS or any(max(pair.grades, default=0) > 1 for pair in pairs)
    usual: AnyRule = MEAN_GRADE if graded else MAJORITY
    if asked is not None and isinstance(asked, GradedRule) != graded:
        kinds = ("grades", "votes") if graded else ("votes", "grades")
        raise ImportRefused(
            f"judgments {source.name!r} are {kinds[0]}, and rule {asked.name!r} is for {kinds[1]}; "
            f"use {usual.name!r}, or leave the rule out"
        )
    return asked or usual


def _originals(pairs: list[JudgedPair], names: Names, asking: Mapping[str, int]) -> Pairs:
    """Each image with its own captions, of the numbers among those judged."""
    if not asking:
        raise ImportRefused("keywords have no original captions; freeze without originals")
    captions = {names.caption[pair.document] for pair in pairs}
    numbers = {names.number[caption] for caption in captions}
    images = {asking[pair.query] for pair in pairs} | {names.owner[caption] for caption in captions}
    return [
        (names.image_name[owner], names.caption_name[caption])
        for caption, owner in names.owner.items()
        if owner in images and names.number[caption] in numbers
    ]


def _write(made: Qrels, snapshot: QrelsSnapshot, names: Names, asking: Mapping[str, int], tell: Tell) -> None:
    rows = over(made.rows, total=len(made.rows), tell=part(tell, 0.5, 1.0), phase="writing qrels")
    try:
        for chunk in chunks(rows, CHUNK):
            values = (
                (
                    *(snapshot.pk, asking.get(row.query), "" if row.query in asking else row.query),
                    *(names.caption[row.document], row.relevance, row.judged),
                )
                for row in chunk
            )
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(_INSERT + ", ".join([_ROW] * len(chunk)), list(chain.from_iterable(values)))
        sql.analyse(len(made.rows), QrelsRow)
        QrelsSnapshot.objects.filter(pk=snapshot.pk).update(published=True)
    except BaseException:
        _sweep(snapshot)
        raise


def _sweep(snapshot: QrelsSnapshot) -> None:
    delete_in_pages(QrelsRow.objects.filter(snapshot=snapshot))
    snapshot.delete()
