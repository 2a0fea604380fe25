"""Judgments in the database -> a frozen, versioned snapshot of qrels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction

from annotation.rebuild import chunks, delete_in_pages
from evaluation.formats.base import JudgedPair
from evaluation.models import QrelsRow, QrelsSnapshot
from evaluation.qrels import RULES, Qrels, QrelsSettings, freeze
from evaluation.selectors import Names, judgment_set, names_of, pairs_of, qrels_of
from evaluation.services.judgments import KEYWORD_FORMATS
from evaluation.services.writing import CHUNK, ImportRefused, alone, check_name


@dataclass(frozen=True, slots=True)
class QrelsReport:
    """A snapshot. `unchanged`: the newest of its name holds the same already."""

    qrels: str
    version: int
    settings: str
    digest: str
    unchanged: bool
    queries: int
    rows: int
    relevant: int
    unjudged: int


def freeze_qrels(
    *, name: str, corpus: str, judgments: str, rule: str = "majority", originals: bool = True
) -> QrelsReport:
    """Freeze the published `judgments` of `corpus` as the next version of the qrels `name`.

    With `originals` every image that was asked about, or whose caption was judged, has that caption as
    relevant, judged or not. Where the newest version holds the same, nothing changes. Raises
    UnknownName for a name or rule nobody knows, Busy, else ImportRefused.
    """
    settings = QrelsSettings(RULES.get(rule), originals)
    check_name(name, "qrels")
    source = judgment_set(corpus, judgments)
    names = names_of(corpus)
    with alone(f"qrels.{name}", "qrels", name):
        standing = QrelsSnapshot.objects.filter(name=name).order_by("version")
        for leftover in standing.filter(published=False):
            _sweep(leftover)
        last = standing.filter(published=True).last()
        if last is not None and last.corpus_id != source.corpus_id:
            raise ImportRefused(
                f"qrels {name!r} are of corpus {last.corpus.name!r}, not {corpus!r}; choose another name"
            )
        pairs = list(pairs_of(source, names))
        # A keyword may be spelt as an image is called.
        images = {} if source.format in KEYWORD_FORMATS else names.image
        previous = qrels_of(last, names) if last else None
        made = freeze(
            pairs,
            name=name,
            settings=settings,
            originals=_originals(pairs, names, images) if originals else None,
            previous=previous,
        )
        if made is not previous:
            snapshot = QrelsSnapshot.objects.create(
                corpus_id=source.corpus_id,
                judgments=source,
                name=name,
                version=made.version,
                rule=rule,
                originals=originals,
                digest=made.digest,
                row_count=len(made.rows),
            )
            _write(made, snapshot, names, images)
    return QrelsReport(
        name,
        made.version,
        made.settings.described(),
        made.digest,
        made is previous,
        len({row.query for row in made.rows}),
        len(made.rows),
        sum(row.relevance for row in made.rows),
        sum(not row.judged for row in made.rows),
    )


def _originals(pairs: list[JudgedPair], names: Names, asking: Mapping[str, int]) -> Mapping[str, str]:
    """Each image's own caption among those judged; the captions of all must have one number."""
    captions = {names.caption[pair.document] for pair in pairs}
    numbers = {names.number[caption] for caption in captions}
    if not asking:
        raise ImportRefused("keywords have no original captions; freeze without originals")
    images = {asking[pair.query] for pair in pairs}
    if len(numbers) != 1:
        raise ImportRefused(
            f"the judged captions have the numbers {', '.join(map(str, sorted(numbers)))} of their images, "
            "and only one caption of an image can be its original; freeze without originals"
        )
    images |= {names.owner[caption] for caption in captions}
    number = numbers.pop()
    own = {owner: c for c, owner in names.owner.items() if names.number[c] == number}
    return {names.image_name[image]: names.caption_name[own[image]] for image in images if image in own}


def _write(made: Qrels, snapshot: QrelsSnapshot, names: Names, asking: Mapping[str, int]) -> None:
    try:
        for chunk in chunks(made.rows, CHUNK):
            with transaction.atomic():
                QrelsRow.objects.bulk_create(
                    QrelsRow(
                        snapshot=snapshot,
                        image_id=asking.get(row.query),
                        keyword="" if row.query in asking else row.query,
                        caption_id=names.caption[row.document],
                        relevance=row.relevance,
                        judged=row.judged,
                    )
                    for row in chunk
                )
        QrelsSnapshot.objects.filter(pk=snapshot.pk).update(published=True)
    except BaseException:
        _sweep(snapshot)
        raise


def _sweep(snapshot: QrelsSnapshot) -> None:
    delete_in_pages(QrelsRow.objects.filter(snapshot=snapshot))
    snapshot.delete()
