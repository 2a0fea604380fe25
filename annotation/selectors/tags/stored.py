"""Stored tags for pages, commands and campaigns: of an image, of a corpus, and the images that have them.

The number of queries of each function is independent of the size of the corpus.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotation.models import Corpus, CorpusTag, Image, ImageTag, TagList
from annotation.selectors.tags.queries import TagQuery

#: Number of tags on a page.
TAGS_PER_PAGE = 100
#: Number of suggestions for an unknown tag, and of tags with the same beginning among which they are
#: searched.
_SUGGESTED, _ALIKE = 3, 500
#: Number of images whose tags are read at a time.
_TOGETHER = 500


@dataclass(frozen=True, slots=True)
class ScoredTag:
    """A tag of an image with its score, and the number of images that have it."""

    text: str
    score: float
    images: int


@dataclass(frozen=True, slots=True)
class TagPage:
    """Some tags of a corpus, the most frequent first; `more`: others follow."""

    tags: list[CorpusTag]
    more: bool


def tag_list_of(corpus: Corpus) -> TagList | None:
    """Return the active tags of a corpus; None if there are none."""
    return TagList.objects.filter(corpus=corpus, published=True).first()


def tags_of_image(image: Image) -> list[ScoredTag]:
    """Return the tags of an image, the best first; one query."""
    rows = ImageTag.objects.filter(image=image, tag__tag_list__published=True).order_by("position")
    return [ScoredTag(*row) for row in rows.values_list("tag__text", "score", "tag__images")]


def frequent_tags(
    tag_list: TagList, *, contains: str = "", skip: int = 0, number: int | None = None
) -> TagPage:
    """Return `number` tags (by default a page) of a list that contain a text, by the number of their images;
    one query."""
    number = TAGS_PER_PAGE if number is None else number
    rows = CorpusTag.objects.filter(tag_list=tag_list).order_by("-images", "text")
    if contains:
        rows = rows.filter(text__contains=contains.lower())
    tags = list(rows[skip : skip + number + 1])
    return TagPage(tags[:number], len(tags) > number)


def tag_numbers(tag_list: TagList, query: TagQuery) -> dict[str, int]:
    """Return the ids of those of a query's tags that the list has; one query."""
    rows = CorpusTag.objects.filter(tag_list=tag_list, text__in=query.tags)
    return dict(rows.values_list("text", "pk"))


def images_tagged(corpus: Corpus, query: TagQuery) -> Q:
    """Return the condition of images of the corpus that match the query; of none, if there are no tags."""
    tag_list = tag_list_of(corpus)
    known = tag_numbers(tag_list, query) if tag_list is not None else {}
    matching = Q(pk__in=[])
    for choice in query.choices:
        if all(tag in known for tag in choice):
            has = Q()
            for tag in choice:
                has &= Q(pk__in=ImageTag.objects.filter(tag=known[tag]).values("image"))
            matching |= has
    return matching


def unknown_tags(corpus: Corpus, query: TagQuery) -> dict[str, list[str]]:
    """Return the tags of a query that no image of the corpus has, each with similarly spelled tags.

    One query for all of them, and one for each unknown tag.
    """
    tag_list = tag_list_of(corpus)
    known = tag_numbers(tag_list, query) if tag_list is not None else {}
    return {tag: _alike(tag_list, tag) for tag in query.tags if tag not in known}


def _alike(tag_list: TagList | None, tag: str) -> list[str]:
    """Return the most frequent tags with the same beginning and the most similar spelling."""
    alike = CorpusTag.objects.filter(tag_list=tag_list, text__startswith=tag[0]).order_by("-images", "text")
    return get_close_matches(tag, alike.values_list("text", flat=True)[:_ALIKE], n=_SUGGESTED, cutoff=0.6)


def tagged_images(
    corpus: Corpus, images: QuerySet[Image] | None = None
) -> Iterator[tuple[str, list[ScoredTag]]]:
    """Yield each image of a corpus (or of some of its `images`), in order, with its tags; two queries for
    each batch of images.

    An image has the name that `export_ranked_tags` uses: its file's, or its key if another image has the same
    file name.
    """
    matching = (Image.objects.all() if images is None else images).filter(corpus=corpus).order_by("position")
    own_images = Image.objects.filter(corpus=corpus)
    counted = own_images.values("filename").order_by().annotate(number=Count("pk"))
    shared = set(counted.filter(number__gt=1).values_list("filename", flat=True))
    others = own_images.filter(key=OuterRef("filename")).exclude(pk=OuterRef("pk"))
    shared |= set(own_images.filter(Exists(others)).values_list("filename", flat=True))
    after = -1
    while page := list(matching.filter(position__gt=after)[:_TOGETHER]):
        after = page[-1].position
        tags_of: dict[int, list[ScoredTag]] = {image.pk: [] for image in page}
        rows = ImageTag.objects.filter(image__in=tags_of, tag__tag_list__published=True).order_by("position")
        for image, text, score, number in rows.values_list("image", "tag__text", "score", "tag__images"):
            tags_of[image].append(ScoredTag(text, score, number))
        for row in page:
            named = row.filename and row.filename not in shared
            yield row.filename if named else row.key, tags_of[row.pk]
