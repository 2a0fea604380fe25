"""Random samples of images by their tags, reproducible, with the same number from each stratum.

A stratum is the result of a query for tags (`queries`). Strata take turns: each provides the first image in
its random order that is not taken yet, until there are enough. So strata have equal numbers as long as they
last, an image in several strata counts for the one that draws it first, and a larger sample contains the
smaller.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.models import Corpus, Image
from annotation.protocol.controls import draw_number
from annotation.selectors.tags.queries import BadTagQuery, read_tag_query
from annotation.selectors.tags.stored import images_tagged, tag_list_of, unknown_tags
from phrasebox.registry import UnknownName

#: Maximum size of a sample: databases accept no longer lists.
LARGEST_SAMPLE = 20_000


@dataclass(frozen=True, slots=True)
class Stratum:
    """A query for tags: the numbers of images that are `matching`, and of those `drawn` for it."""

    query: str
    matching: int
    drawn: int


@dataclass(frozen=True, slots=True)
class TagSample:
    """The ids of the sampled images, in the order of the draw, and the strata."""

    images: tuple[int, ...]
    strata: tuple[Stratum, ...]


def draw_by_tags(
    corpus: Corpus,
    strata: Sequence[str],
    *,
    seed: int,
    number: int | None = None,
    split: str | None = None,
) -> TagSample:
    """Return `number` images of a corpus (None: all), of one `split` or all, with equal shares of the
    `strata`.

    Four queries for each stratum, whatever the size of the corpus. Raises BadTagQuery for missing or invalid
    strata, and more than LARGEST_SAMPLE images; UnknownName if the corpus has no tags, or a tag is unknown.
    """
    if tag_list_of(corpus) is None:
        raise UnknownName(f"corpus {corpus.name!r} has no tags; rank its tags first")
    orders = [_order(corpus, stratum, seed, split) for stratum in strata]
    if not orders:
        raise BadTagQuery("no tags were named; name at least one stratum")
    taken: dict[int, int] = {}
    left = [iter(order) for order in orders]
    active = list(range(len(orders)))
    while active and (number is None or len(taken) < number):
        for index in list(active):
            if number is not None and len(taken) >= number:
                break
            image_drawn = next((image for image in left[index] if image not in taken), None)
            if image_drawn is None:
                active.remove(index)
            else:
                taken[image_drawn] = index
    if len(taken) > LARGEST_SAMPLE:
        raise BadTagQuery(f"these tags find {len(taken)} images; draw {LARGEST_SAMPLE} at most")
    drawn = list(taken.values())
    return TagSample(
        tuple(taken),
        tuple(
            Stratum(query, len(order), drawn.count(index))
            for index, (query, order) in enumerate(zip(strata, orders, strict=True))
        ),
    )


def _order(corpus: Corpus, text: str, seed: int, split: str | None) -> list[int]:
    """Return the images of a stratum in random order."""
    query = read_tag_query(text)
    if query is None:
        raise BadTagQuery("a stratum is empty; name at least one tag of it")
    for tag, alike in unknown_tags(corpus, query).items():
        hint = f"; did you mean {', '.join(alike)}?" if alike else ""
        raise UnknownName(f"no image of corpus {corpus.name!r} has the tag {tag!r}{hint}")
    images = Image.objects.filter(images_tagged(corpus, query), corpus=corpus)
    if split is not None:
        images = images.filter(split=split)
    keys = dict(images.order_by("position").values_list("pk", "key"))
    return sorted(keys, key=lambda image: (draw_number(seed, "stratum", text, keys[image]), keys[image]))
