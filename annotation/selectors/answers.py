"""All answers of workers in a campaign, as a stream of plain records.

Images and captions have the names of the corpus: an image its key, a caption IMAGE#NUMBER with numbers from
0. Workers are pseudonyms.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet

from annotation.models import Campaign, Identity, Image, Judgment, Worker
from annotation.protocol.kinds import is_page, kind_of
from annotation.protocol.paging import ROLE_CONTROL

#: Number of answers read at a time.
_PAGE = 500
_COLUMNS = (
    *(
        "id",
        "name",
        "kind",
        "key",
        "role",
        "answer",
        "content",
        "flag",
        "withdrawn",
        "way",
        "schema",
        "instructions",
    ),
    *("xmin", "ymin", "xmax", "ymax", "created_at"),
    *("worker__pseudonym", "worker__kind", "worker__identity__provider"),
    *("image__image__key", "assignment__seconds", "assignment__settings_version"),
    *("assignment__control", "assignment__control__image__key"),
)


def answers(campaign: Campaign, *, known: bool = False, image: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield answers in order of arrival; those on control items, including a page's control images, only with
    `known`.

    `image` limits them to one open image. Each has: id, which the key of a verdict refers to; kind, image,
    key, worker, by (a person, a model annotator, or simulated), role, answer, box or None, flag, withdrawn,
    way, seconds, schema, instructions, settings (versions), at; and the fields of its kind: `text` of a
    caption, `regions`, `caption` of a graded pair, `pairs` of a page.
    """
    rows = Judgment.objects.filter(campaign=campaign).order_by("id")
    if image is not None:
        rows = rows.filter(image=image)
    elif not known:
        rows = rows.filter(image__isnull=False)
    for row in _in_pages(rows):
        yield _record(row, campaign, known)


def control_answers(campaign: Campaign) -> Iterator[dict[str, Any]]:
    """Yield answers on control items, as in `answers`, each with the `control` (id of its row)."""
    for row in _in_pages(Judgment.objects.filter(campaign=campaign, image__isnull=True).order_by("id")):
        yield {**_record(row, campaign, known=True), "control": row["assignment__control"]}


def _in_pages(rows: QuerySet[Judgment]) -> Iterator[dict[str, Any]]:
    after = 0
    while page := list(rows.filter(id__gt=after).values(*_COLUMNS)[:_PAGE]):
        yield from page
        after = page[-1]["id"]


def _record(row: Mapping[str, Any], campaign: Campaign, known: bool) -> dict[str, Any]:
    box = [row[edge] for edge in ("xmin", "ymin", "xmax", "ymax")]
    at: datetime = row["created_at"]
    return {
        "id": row["name"],
        "kind": row["kind"],
        "image": row["image__image__key"] or row["assignment__control__image__key"],
        "key": row["key"],
        "worker": row["worker__pseudonym"],
        "by": _by(row["worker__kind"], row["worker__identity__provider"], campaign),
        "role": row["role"],
        "answer": row["answer"],
        "box": box if box[0] is not None else None,
        "flag": row["flag"],
        "withdrawn": row["withdrawn"],
        "way": row["way"],
        "seconds": row["assignment__seconds"],
        "schema": row["schema"],
        "instructions": row["instructions"],
        "settings": row["assignment__settings_version"],
        "at": at.isoformat(),
        **answer_details(row["kind"], row["key"], row["content"] or {}, known=known),
    }


def _by(kind: str, provider: str | None, campaign: Campaign) -> str:
    """Return who answered. The origin of erased workers is unknown: in a simulated campaign they count as
    simulated."""
    if kind == Worker.PERSON and (
        provider == Identity.SIMULATED or (provider is None and campaign.simulated)
    ):
        return Identity.SIMULATED
    return kind


def answer_details(kind: str, key: str, content: Mapping[str, Any], *, known: bool = False) -> dict[str, Any]:
    """Return the fields of an answer besides its word; of a page, the pairs of control images only with
    `known`."""
    answer_content = kind_of(kind).details(key, content)
    if not is_page(kind):
        return answer_content
    pairs = [
        {**pair, "image": image_key(pair["image"]), "caption": caption_at(*pair["caption"])}
        for pair in answer_content["pairs"]
        if known or pair["role"] != ROLE_CONTROL
    ]
    return {**answer_content, "pairs": pairs}


def caption_at(image: int, place: int) -> str:
    """Return IMAGE#NUMBER of a caption: the id of its image's row, and its index from 0."""
    return f"{image_key(image)}#{place}"


@lru_cache(maxsize=65536)
def image_key(image: int) -> str:
    """Return the key of the image with this id; a published corpus never changes."""
    return Image.objects.values_list("key", flat=True).get(pk=image)
