"""Store ranked tags of a corpus: written hidden, then published in place of earlier ones."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction

from annotation.common import database
from annotation.common.database import chunks
from annotation.common.locks import locked_folder
from annotation.models import Corpus, CorpusTag, ImageTag, TagList
from annotation.models.corpus import LONGEST_STORED_TAG

#: Number of images whose tags are written in one transaction.
IMAGES_TOGETHER = 200
#: Number of tags of a list that are updated by one statement.
_TAGS_TOGETHER = 500


@dataclass(frozen=True, slots=True)
class StoredTagCounts:
    """Numbers of stored `tags`, `images`, and `distinct` tags. Those longer than 200 characters were
    `excluded`."""

    images: int
    tags: int
    distinct: int
    excluded: int


def save_tags(
    *,
    corpus: Corpus,
    images: Iterable[tuple[str, Sequence[tuple[str, float]]]],
    unit: str,
    alpha: float,
    placed_by: str = "words",
) -> StoredTagCounts:
    """Store the tags of a corpus's images, each by its key with its tags and their scores, the best first.

    They replace the active ones once all are written; on an error these stay active. If an image has a tag
    twice, ignoring case, the first counts. Raises Busy, and KeyError for a key that the corpus lacks.
    """
    busy = f"tags of corpus {corpus.name!r} are being kept by another process; wait for its end"
    with locked_folder(f"tags.{corpus.pk}", busy=busy):
        _remove(TagList.objects.filter(corpus=corpus, published=False))  # remains of a killed process
        tag_list = TagList.objects.create(corpus=corpus, unit=unit, alpha=alpha, placed_by=placed_by)
        try:
            counts = _write(tag_list, dict(corpus.images.values_list("key", "pk")), images)
        except BaseException:
            _remove(TagList.objects.filter(pk=tag_list.pk))
            raise
        database.analyse_tables(counts.tags, ImageTag)
        with database.writing():
            TagList.objects.filter(corpus=corpus, published=True).update(published=False)
            TagList.objects.filter(pk=tag_list.pk).update(published=True)
        _remove(TagList.objects.filter(corpus=corpus, published=False))
    return counts


def _write(
    tag_list: TagList, ids: dict[str, int], images: Iterable[tuple[str, Sequence[tuple[str, float]]]]
) -> StoredTagCounts:
    known: dict[str, int] = {}
    counts: Counter[int] = Counter()
    number = tags = skipped = 0
    for chunk in chunks(images, IMAGES_TOGETHER):
        read: list[tuple[int, list[tuple[str, float]]]] = []
        for key, ranked in chunk:
            best: dict[str, float] = {}
            for text, score in ranked:
                best.setdefault(text.lower(), score)
            short = [(text, score) for text, score in best.items() if len(text) <= LONGEST_STORED_TAG]
            skipped += len(best) - len(short)
            read.append((ids[key], short))
        new = sorted({text for _, tags_of_image in read for text, _ in tags_of_image} - known.keys())
        rows = [
            (text, image, index, score)
            for image, tags_of_image in read
            for index, (text, score) in enumerate(tags_of_image)
        ]
        with transaction.atomic():
            created = CorpusTag.objects.bulk_create(CorpusTag(tag_list=tag_list, text=text) for text in new)
            known.update((row.text, row.pk) for row in created)
            ImageTag.objects.bulk_create(
                ImageTag(tag_id=known[text], image_id=image, position=index, score=score)
                for text, image, index, score in rows
            )
        counts.update(known[text] for text, *_ in rows)
        number, tags = number + len(read), tags + len(rows)
    for part in chunks(counts.items(), _TAGS_TOGETHER):
        CorpusTag.objects.bulk_update([CorpusTag(pk=pk, images=count) for pk, count in part], ["images"])
    return StoredTagCounts(number, tags, len(known), skipped)


def _remove(lists: Iterable[TagList]) -> None:
    """Remove lists with their tags, each table by one statement."""
    for tag_list in lists:
        with transaction.atomic():
            ImageTag.objects.filter(tag__tag_list=tag_list).delete()
            CorpusTag.objects.filter(tag_list=tag_list).delete()
            tag_list.delete()
