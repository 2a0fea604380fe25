"""Queries of evaluation's tables: judgments, qrels and runs by name, as the types of the pure packages.

Names. We write an image's file name, and a caption's own id where its corpus has one, else `filename#number`,
counted from 0. Those are Flickr8k's; so judgments read back are the pairs of their file. An image without a
file name, or with one that another image has too, is called by its key. `phrasebox.names` defines the meaning
of names in files.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from django.db.models import Case, Count, F, Q, When
from numpy.typing import NDArray

from annotation.common.database import chunks
from annotation.common.plain_text import with_known
from annotation.common.roles import RESEARCHER
from annotation.protocol.paging import ROLE_WANTED
from annotation.selectors.corpora import Account, corpus_named, names_of_images, row_named, within_scope
from annotation.selectors.pair_judgments import selected_pairs
from evaluation.models import Batch, JudgmentSet, QrelsQueries, QrelsRow, QrelsSnapshot, Ranking, Run
from phrasebox.names import ANY, CaptionNames, CaptionNaming, ImageNames, Lookup
from phrasebox.registry import UnknownName
from phrasebox.relevance.grades import JudgedPair
from phrasebox.relevance.qrels import Qrel, Qrels, QrelsSettings, rule_named
from phrasebox.text.tokens import tokenise

#: Number of rows read at once.
_PAGE = 5_000

#: The queries: row ids, ascending, by kind ("image", "caption").
Queries = Mapping[str, NDArray[np.int64]]

#: Prefixes of the format and of the source of judgments that were collected from a batch.
BATCH_FORMAT, _OF_BATCH = "batch-", "batch "
#: The format of a corpus whose captions are to be judged, of systems and people mixed.
CANDIDATES = "candidates"


@dataclass(frozen=True)
class CorpusNames:
    """The images and captions of a corpus by their names, as row ids.

    `image_name` and `caption_name` are the names that we write, in the order of the corpus; `image` and
    `caption` are the inverse mappings. `owner` maps a caption to its image, and `number` to its number there.
    If the captions are `candidates`, they are to be judged: none is known to describe its image.
    """

    corpus: str
    images: ImageNames
    image_name: dict[int, str]
    caption_rows: list[CaptionNaming]
    candidates: bool = False
    caption_name: dict[int, str] = field(default_factory=dict)
    owner: dict[int, int] = field(default_factory=dict)
    number: dict[int, int] = field(default_factory=dict)

    @cached_property
    def image(self) -> dict[str, int]:
        """The images by the names that we write."""
        return {name: pk for pk, name in self.image_name.items()}

    @cached_property
    def caption(self) -> dict[str, int]:
        """The captions by the names that we write."""
        return {name: pk for pk, name in self.caption_name.items()}

    @cached_property
    def captions(self) -> CaptionNames:
        """The captions by all their names."""
        return CaptionNames(self.images, self.caption_rows)

    def images_in(self, file: Path | str, spaces: Sequence[str] = ANY) -> Lookup:
        """Return a lookup for names of images in a file, which are from these name spaces."""
        return Lookup(self.images.find, self.images.declared(*spaces), file=file)

    def captions_in(self, file: Path | str, spaces: Sequence[str] = ANY) -> Lookup:
        """Return a lookup for names of captions in a file; its names of images are from these name spaces."""
        return Lookup(self.captions.find, self.images.declared(*spaces), file=file)


def names_of(corpus: str) -> CorpusNames:
    """Return the names in the published corpus `corpus`; raises UnknownName listing the corpora."""
    row = corpus_named(corpus)
    images = names_of_images(row)
    captions = row.images.filter(captions__isnull=False).order_by("position", "captions__number")
    columns = ("captions__pk", "pk", "captions__number", "captions__external_id")
    rows = list(map(CaptionNaming._make, captions.values_list(*columns)))
    names = CorpusNames(corpus, images, _written_names(images), rows, row.format == CANDIDATES)
    _name_captions(names)
    return names


def image_names(corpus: str) -> list[str]:
    """Return the names that we write of the corpus's images, in order; raises UnknownName listing the
    corpora."""
    return list(_written_names(names_of_images(corpus_named(corpus))).values())


def _written_names(images: ImageNames) -> dict[int, str]:
    """Return the name that we write of each image, by its id."""
    rows = images.images.values()
    keys = {row.key: row.item for row in rows}
    shared = Counter(row.filename for row in rows)
    return {
        row.item: row.filename
        if row.filename and shared[row.filename] == 1 and keys.get(row.filename, row.item) == row.item
        else row.key
        for row in rows
    }


def image_sizes(corpus: str) -> dict[str, tuple[int, int]]:
    """Return width and height in pixels of every image of the corpus whose size is known, by the name that we
    write."""
    names = names_of(corpus).image_name
    sizes = corpus_named(corpus).images.filter(width__gt=0, height__gt=0)
    return {names[pk]: (width, height) for pk, width, height in sizes.values_list("pk", "width", "height")}


def caption_words(corpus: str, images: Collection[int] | None = None) -> list[list[str]]:
    """Return the lower-cased words of each caption of a corpus, punctuation included, in the order of rows;
    only for `images` (row ids) if given."""
    captions = corpus_named(corpus).images.filter(captions__isnull=False).order_by("captions__pk")
    texts = captions.values_list("pk", "captions__text").iterator()
    return [
        [word.lower() for word in tokenise(text)]
        for image, text in texts
        if images is None or image in images
    ]


def captions_as_counted(corpus: str) -> dict[int, dict[int, str]]:
    """Return each caption of a corpus as its words are counted, joined by spaces, by the id of its image and
    by its number there. Raises UnknownName listing the corpora."""
    texts: dict[int, dict[int, str]] = {}
    captions = corpus_named(corpus).images.filter(captions__isnull=False).order_by()
    columns = ("pk", "captions__number", "captions__tokens", "captions__text")
    for image, number, tokens, text in captions.values_list(*columns).iterator(_PAGE):
        texts.setdefault(image, {})[number] = tokens or text
    return texts


def words_of(corpus: str) -> list[str]:
    """Return every word of a corpus's captions once, the most frequent first, tokenised as in
    `caption_words`."""
    seen = Counter(word for words in caption_words(corpus) for word in words)
    return [word for word, _ in seen.most_common()]


def _name_captions(names: CorpusNames) -> None:
    """Fill in the names that we write of captions."""
    shared = Counter(row.source for row in names.caption_rows)
    by_number = {f"{names.image_name[row.image]}#{row.number}": row.item for row in names.caption_rows}
    for row in names.caption_rows:
        # An id that another caption has too, or that is another caption's name, identifies neither.
        alone = row.source and shared[row.source] == 1 and by_number.get(row.source, row.item) == row.item
        names.caption_name[row.item] = row.source if alone else f"{names.image_name[row.image]}#{row.number}"
        names.owner[row.item], names.number[row.item] = row.image, row.number


def captions_of_images(corpus: str, images: Iterable[int], *columns: str) -> Iterator[tuple[Any, ...]]:
    """Yield (image, caption, `columns`) for each caption of some images of a corpus, an image's captions in
    order.

    `images` and the first two values are row ids; `columns` are named as seen from an image. The amount of
    data read grows with `images`, not with the corpus.

    Raises UnknownName listing the corpora.
    """
    captioned = corpus_named(corpus).images.filter(captions__isnull=False).order_by("pk", "captions__number")
    for some in chunks(sorted(images), _PAGE):
        yield from captioned.filter(pk__in=some).values_list("pk", "captions__pk", *columns)


def image_keys(corpus: str, images: Iterable[int]) -> dict[int, str]:
    """Return the keys of some images of a corpus, by row id.

    Raises UnknownName listing the corpora.
    """
    rows = corpus_named(corpus).images.order_by().values_list("pk", "key")
    return {pk: key for some in chunks(sorted(images), _PAGE) for pk, key in rows.filter(pk__in=some)}


def images_of_captions(corpus: str, captions: Iterable[int]) -> set[int]:
    """Return the images of a corpus to which some captions belong; all are row ids.

    Raises UnknownName listing the corpora.
    """
    images, captions_of = corpus_named(corpus).images.order_by(), set[int]()
    for some in chunks(sorted(captions), _PAGE):
        captions_of.update(images.filter(captions__in=some).values_list("pk", flat=True))
    return captions_of


def judgment_set(corpus: str, name: str) -> JudgmentSet:
    """Return the published set `name` of `corpus`; raises UnknownName listing what exists."""
    sets = JudgmentSet.objects.filter(corpus=corpus_named(corpus), published=True)
    row = sets.filter(name=name).first()
    if row is None:
        known = ", ".join(sets.values_list("name", flat=True)) or "none"
        raise UnknownName(f"unknown judgments {name!r} of corpus {corpus!r}; known: {known}")
    return row


def judgments_source(batch: Batch) -> str:
    """Return the source of judgments that are collected from a batch."""
    return f"{_OF_BATCH}{batch.name}"


def batch_of(judgments: JudgmentSet) -> Batch | None:
    """Return the batch from which judgments were collected; None for those of a file."""
    if not judgments.format.startswith(BATCH_FORMAT):
        return None
    batches = Batch.objects.select_related("campaign").filter(corpus=judgments.corpus_id)
    return batches.filter(name=judgments.source.removeprefix(_OF_BATCH)).first()


def selected_pairs_of(batch: Batch) -> set[tuple[int, int]]:
    """Return the pairs that a batch asks about, in all its rounds so far: ids of image and caption."""
    return {
        (image, caption) for image, caption, role in selected_pairs(batch.campaign) if role == ROLE_WANTED
    }


def judged_pairs(judgments: JudgmentSet, names: CorpusNames) -> Iterator[JudgedPair]:
    """Yield the pairs of a set in the order of their source; `names` are those of its corpus."""
    rows = judgments.pairs.order_by("position")
    after = -1
    while page := list(
        rows.filter(position__gt=after).values_list(
            "position", "image_id", "keyword", "caption_id", "grades", "judges"
        )[:_PAGE]
    ):
        for _, image, keyword, caption, grades, judges in page:
            yield JudgedPair(
                names.image_name[image] if image else keyword,
                names.caption_name[caption],
                tuple(map(float, grades)),
                tuple(judges),
            )
        after = page[-1][0]


def snapshot_named(name: str, version: int | None = None) -> QrelsSnapshot:
    """Return the published qrels `name`, the newest version by default.

    `name` may end in a version, as `flickr8k:2`. Raises UnknownName listing what exists.
    """
    head, colon, tail = name.partition(":")
    if colon and tail.isdecimal() and version is None:
        name, version = head, int(tail)
    published = QrelsSnapshot.objects.filter(published=True)
    chosen = published.filter(name=name).order_by("-version")
    if version is not None:
        chosen = chosen.filter(version=version)
    snapshot = chosen.first()
    if snapshot is None:
        names = [f"{n}:{v}" for n, v in published.values_list("name", "version")]
        requested = name if version is None else f"{name}:{version}"
        raise with_known(UnknownName(f"unknown qrels {requested!r}"), names)
    return snapshot


def qrels_of(snapshot: QrelsSnapshot, names: CorpusNames) -> Qrels:
    """Return the snapshot as a `Qrels` of the pure package; its digest is computed again."""
    rows = QrelsRow.objects.filter(snapshot=snapshot).values_list(
        "image_id", "keyword", "caption_id", "relevance", "judged"
    )
    pairs = (
        Qrel(names.image_name[image] if image else keyword, names.caption_name[caption], relevance, judged)
        for image, keyword, caption, relevance, judged in rows.iterator(_PAGE)
    )
    settings = QrelsSettings(
        rule_named(snapshot.rule),
        snapshot.originals,
        digest_of_images(snapshot.images, names),
        digest_of_queries(stored_queries(snapshot), names),
    )
    return Qrels(snapshot.name, snapshot.version, settings, tuple(sorted(pairs)))


def digest_of_images(images: Iterable[int], names: CorpusNames) -> str:
    """Return the SHA-256 of the names of images, in hexadecimal, shortened; "" for none."""
    called = sorted(names.image_name[image] for image in images)
    return hashlib.sha256("\n".join(called).encode()).hexdigest()[:16] if called else ""


def stored_queries(owner: Batch | QrelsSnapshot) -> Queries:
    """Return the queries that are stored with a batch or with qrels."""
    rows = owner.queries.values_list("asks", "ids")
    return {kind: np.frombuffer(bytes(ids), dtype="<i8") for kind, ids in rows}


def digest_of_queries(queries: Queries, names: CorpusNames) -> str:
    """Return the SHA-256 of the kinds and names of queries, in hexadecimal, shortened; "" for none."""
    called = {"image": names.image_name, "caption": names.caption_name}
    lines = sorted(f"{kind} {called[kind][pk]}" for kind, ids in queries.items() for pk in ids.tolist())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] if lines else ""


@dataclass(frozen=True, slots=True)
class QrelsCounts:
    """The counts of a snapshot: its queries, its relevant rows and the unjudged ones.

    Queries are captions where the snapshot is for them, else images, or keywords with `keywords`.
    `queries_by_kind` are the known queries by kind; otherwise the judged ones are counted.
    """

    queries_by_kind: Mapping[str, int]
    queries: int
    relevant: int
    unjudged: int
    keywords: bool


def counts_of(snapshots: Sequence[QrelsSnapshot]) -> dict[int, QrelsCounts]:
    """Return the counts of snapshots by their ids, computed from the rows in two statements."""
    asks_captions = [row.pk for row in snapshots if row.asks == "caption"]
    relevant = Q(pk__in=[])
    for level in {rule_named(row.rule).level for row in snapshots}:
        those = [row.pk for row in snapshots if rule_named(row.rule).level == level]
        relevant |= Q(snapshot__in=those, relevance__gte=level)
    side = Case(When(snapshot__in=asks_captions, then=F("caption")), default=F("image"))
    rows = QrelsRow.objects.filter(snapshot__in=snapshots).values("snapshot").order_by()
    queries_of: dict[int, dict[str, int]] = {row.pk: {} for row in snapshots}
    stored = QrelsQueries.objects.filter(snapshot__in=snapshots).order_by("-asks")
    for snapshot, kind, count in stored.values_list("snapshot", "asks", "count"):
        queries_of[snapshot][kind] = count
    counts = {
        pk: QrelsCounts(
            queries_of[pk],
            queries_of[pk].get(
                "caption" if pk in asks_captions else "image", row["asking"] + row["keywords"]
            ),
            row["relevant"],
            row["unjudged"],
            bool(row["keywords"]),
        )
        for pk, row in (
            (row["snapshot"], row)
            for row in rows.annotate(
                asking=Count(side, distinct=True),
                keywords=Count("keyword", distinct=True, filter=Q(image__isnull=True)),
                relevant=Count("pk", filter=relevant),
                unjudged=Count("pk", filter=Q(judged=False)),
            )
        )
    }
    return {row.pk: counts.get(row.pk, QrelsCounts({}, 0, 0, 0, False)) for row in snapshots}


def run_named(name: str) -> Run:
    """Return the published run `name`; raises UnknownName listing what exists."""
    return row_named(Run.objects.filter(published=True), name)


def runs_exist(account: Account) -> bool:
    """Whether there are published runs of a corpus in which an account may run evaluations."""
    return Run.objects.filter(within_scope(account, RESEARCHER, corpus="corpus"), published=True).exists()


def rankings_of(run: Run) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float32]]]:
    """Yield (query, items best first, their scores) in the order of the source, as row ids."""
    rows = Ranking.objects.filter(run=run).order_by("position")
    columns = ("image", "caption", "items", "scores")
    for image, caption, items, scores in rows.values_list(*columns).iterator(200):
        query = image or caption
        assert query is not None  # by the constraint ranking_asks_of_image_or_caption
        yield (
            query,
            np.frombuffer(bytes(items), dtype="<i8"),
            np.frombuffer(bytes(scores), dtype="<f4"),
        )
