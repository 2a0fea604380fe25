"""The rules of ticked pages: what a control item is, and when its answer is right.

A control item is an image of a page: a few of its own texts, the rest random ones that were verified not to
describe it. Source: Hodosh et al. 2013, section 4.3.2.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

from annotation.protocol.grading import BadGoldAnswer, Grader
from annotation.protocol.kinds import ABOUT_PAGE, BadItem, Kind, WrittenControlItem
from annotation.protocol.paging import PAGE_ROLES
from annotation.protocol.trust_settings import TrustSettings


def ticked_pages(key: str, *, tasks: str, sort_order: int, most_true: int, **options: Any) -> Kind:
    """Return the kind `key` of ticked pages; `options` are other fields of `kinds.Kind`.

    Of a control item's texts at least one is true, and at most `most_true`.
    """
    return Kind(
        key=key,
        tasks=tasks,
        answers=("judged",),
        about=ABOUT_PAGE,
        sort_order=sort_order,
        with_content=frozenset({"judged"}),
        grader=Grader(_right, partial(_stratum, most_true)),
        bar="relevance_bar",
        graded=_graded_answer,
        written_known=_written_known,
        item=partial(_item, key),
        details=_answer_details,
        most_true=most_true,
        **options,
    )


def _right(answer: Sequence[bool], known: Sequence[bool], settings: TrustSettings) -> bool:
    """Return whether at most `page_slips` texts are wrong and at least one true text is ticked.

    The second condition matters: an image with one true text would otherwise be right with nothing ticked. So
    does it that fewer slips are allowed than there are wrong texts: an image with few texts would otherwise
    be right with everything ticked. If none is true nothing must be ticked.
    """
    if len(answer) != len(known):
        raise ValueError(
            f"{len(answer)} answers on a control image with {len(known)} captions: expected one each"
        )
    errors = sum(a != k for a, k in zip(answer, known, strict=True))
    any_right = any(a and k for a, k in zip(answer, known, strict=True))
    slips = min(settings.page_slips, max(0, len(known) - sum(known) - 1)) if any(known) else 0
    return errors <= slips and (any_right or not any(known))


def _stratum(most_true: int, known: Sequence[bool]) -> str:
    if not 1 <= sum(known) <= most_true:
        raise BadGoldAnswer(f"a control image with {sum(known)} true captions: expected 1 to {most_true}")
    return str(sum(known))


def _graded_answer(answer: Any) -> Any:
    # In the test an image is a page of its own.
    (ticked,) = (answer.content or {})["ticked"]
    return ticked


def _written_known(text: str, captions: tuple[tuple[str, int], ...]) -> tuple[bool, ...]:
    """Return whether each caption is true, from a table's cell that names the true ones."""
    true = set()
    for name in text.split():
        key, _, index = name.rpartition("#")
        if not key or not (index.isascii() and index.isdigit()):
            raise BadItem(f"caption {name!r}: expected IMAGE#NUMBER, as 1000092795#0")
        true.add((key, int(index)))
    if unknown := true - set(captions):
        key, number = min(unknown)
        raise BadItem(f"known names {key}#{number}, which is not among the captions")
    return tuple(name in true for name in captions)


def _item(kind: str, item: WrittenControlItem) -> tuple[dict[str, Any], str]:
    if not isinstance(item.known, tuple) or len(item.known) != len(item.caption_ids):
        raise BadItem(f"{len(item.caption_ids)} captions; expected whether each is true")
    if len(set(item.captions)) < len(item.captions):
        raise BadItem("a caption is named twice; expected each once")
    names = sorted(f"{key}#{index}" for key, index in item.captions)
    digest = blake2b("\x1f".join((item.image, *names)).encode(), digest_size=9).hexdigest()
    return {"blocks": [{"image": item.image_id, "captions": item.caption_ids}]}, f"{kind}|known|{digest}"


def _answer_details(key: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pairs of a page, by ids: (image, caption's image, caption's index), role, and whether it
    fits."""
    pairs = [
        {
            "image": block["image"],
            "caption": [image, index],
            "role": PAGE_ROLES[role],
            "yes": block["yes"][number] if "yes" in block else None,
        }
        for block in content.get("blocks", ())
        for number, ((image, index), role) in enumerate(zip(block["captions"], block["roles"], strict=True))
    ]
    return {"pairs": pairs}
