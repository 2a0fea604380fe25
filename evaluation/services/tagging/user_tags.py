"""Tags that users gave images of a weak collection, as a tag set of the corpus's images with the same ids.

A user's first tag is the best, in the order in which they wrote them; a tag that occurs twice counts once.
Words are lower-cased and not lemmatised. This is the baseline "user tags" of structured listwise tagging,
Table 5.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import (
    LEAVE_UNUSED,
    Help,
    Named,
    OperationContext,
    check_used,
    result_of,
    with_sheet,
)
from annotation.selectors.corpora import CORPORA, corpus_named
from evaluation.models import TagSet
from evaluation.selectors import names_of
from evaluation.services.common import InputError
from evaluation.services.stored import get_or_publish
from evaluation.services.tagging.sets import TagSetSummary, fill_tag_set, tag_set_summary
from evaluation.services.tags.ranked import SCORE_DIGITS
from evaluation.services.weak.collections import weak_collection
from phrasebox.balance import NAMED_IMAGES, UNKNOWN, BalanceSheet, current_tally
from phrasebox.text_files import short_repr

_KIND = "tags"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserTagsRequest:
    """Tags that users assigned to images of a weak collection become a tag set of the images that are also in
    a corpus."""

    name: Annotated[str, Named(), Help(_("Name of the set"))]
    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    collection: Annotated[str, Field(max_length=100), Help(_("Weak collection"))]
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedUserTags(TagSetSummary):
    """Tags of users that were imported. `sheet`: which images of the collection the corpus has."""

    sheet: BalanceSheet = BalanceSheet()


@with_sheet
def import_user_tags(request: UserTagsRequest, context: OperationContext) -> ImportedUserTags:
    """Store the tags, in the corpus's order; repeating it changes nothing.

    Raises UnknownName, Invalid, and InputError if a set of that name has other tags, two images of the
    collection are one of the corpus, or no image is in both.
    """
    name, corpus, collection = request.name, request.corpus, request.collection
    row, weak = corpus_named(corpus), weak_collection(collection)
    weak.check_kinds([_KIND])
    names = names_of(corpus)
    by_name = names.images_in(f"collection {collection}")
    tags_of_image: dict[int, list[str]] = {}
    id_of_image: dict[int, str] = {}
    unknown: list[str] = []
    for known, text in zip(weak.ids(), weak.texts([_KIND]), strict=True):
        pk = by_name[known]
        if pk is None:
            unknown.append(known)
            continue
        tags_of_image[pk] = list(dict.fromkeys(text.lower().split()))
        if (other := id_of_image.setdefault(pk, known)) != known:
            raise InputError(
                f"{short_repr(other)} and {short_repr(known)} of collection {collection!r} are one image of "
                f"corpus {corpus!r}, {names.image_name[pk]!r}; expected each image once"
            )
    if not tags_of_image:
        raise InputError(
            f"collection {collection!r} has no image of corpus {corpus!r}; its ids are as {weak.ids()[:1]}"
        )
    tally = current_tally()
    tally.take_others(NAMED_IMAGES, len(tags_of_image) + len(unknown), {UNKNOWN: unknown})
    check_used(tally.sheet(), leave_unused=request.leave_unused)

    def rows() -> Iterator[tuple[int, list[list[Any]], bytes]]:
        for pk in names.image_name:
            if pk in tags_of_image:
                tags_of_one = tags_of_image[pk]
                yield (
                    pk,
                    [
                        [tag, round(1 - n / len(tags_of_one), SCORE_DIGITS)]
                        for n, tag in enumerate(tags_of_one)
                    ],
                    b"",
                )

    source = f"collection {collection}, {weak.digest}"
    columns = {"corpus": row, "source": source}
    stored, _created = get_or_publish(TagSet, name, columns, lambda new: fill_tag_set(new, rows()))
    if stored.source != source:
        raise InputError(f"tag set {name!r} already exists; choose another name")
    return result_of(ImportedUserTags, tag_set_summary(stored), sheet=tally.sheet())
