"""Control items and details of questions about a picture and one caption; plain Python."""

from collections.abc import Mapping
from typing import Any

from annotation.protocol.kinds import BadItem, WrittenControlItem
from annotation.protocol.questions import pair_key


def caption_item(kind: str, item: WrittenControlItem) -> tuple[dict[str, Any], str]:
    """Return the content and the key of a control item. Raises BadItem unless it has one caption."""
    if len(item.caption_ids) != 1:
        raise BadItem(f"{len(item.caption_ids)} captions for one question; expected one")
    key, index = item.captions[0]
    return {"caption": item.caption_ids[0]}, pair_key(kind, item.image, f"{key}#{index}")


def caption_details(key: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the caption that an answer is about, by its name."""
    return {"caption": key.split("|", 2)[2]}
