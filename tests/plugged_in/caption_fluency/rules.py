"""How well is a caption written? Grades of 1 to 4, whatever the picture shows. Made up for a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.protocol.grading import one_of
from annotation.protocol.kinds import (
    ABOUT_PAIR,
    KINDS,
    BadItem,
    Kind,
    Number,
    PairBatch,
    WrittenControlItem,
)
from annotation.protocol.questions import pair_key

CAPTION_FLUENCY = "caption_fluency"
GRADES = ("1", "2", "3", "4")


def _item(item: WrittenControlItem) -> tuple[dict[str, Any], str]:
    if len(item.caption_ids) != 1:
        raise BadItem(f"{len(item.caption_ids)} captions to be graded; expected one")
    key, index = item.captions[0]
    return {"caption": item.caption_ids[0]}, pair_key(CAPTION_FLUENCY, item.image, f"{key}#{index}")


def _described(key: str, content: Mapping[str, Any]) -> dict[str, Any]:
    return {"caption": key.split("|")[2]}


RULES = Kind(
    key=CAPTION_FLUENCY,
    tasks="fluency",
    answers=GRADES,
    about=ABOUT_PAIR,
    grader=one_of(GRADES),
    strata=("1", "4"),
    item=_item,
    numbers={CAPTION_FLUENCY: Number(2, "made up")},
    details=_described,
    batch=PairBatch(6.0),
)

KINDS.register(RULES.key, RULES)
