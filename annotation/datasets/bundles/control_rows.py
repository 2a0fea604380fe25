"""Control items in a bundle, with their answers, once they are no longer secret."""

from collections.abc import Iterator, Mapping
from typing import Any

from annotation.models import Campaign, Control
from annotation.protocol.paging import ROLE_CONTROL
from annotation.selectors.answers import caption_at, control_answers


class ReleasedControls:
    """The control items of a campaign that its bundle contains: none before it is closed (`ended`), and none
    about an image for which an open campaign uses one of the same kind."""

    def __init__(self, campaign: Campaign) -> None:
        self.ended = campaign.state == Campaign.CLOSED
        others = Control.objects.filter(active=True, campaign__corpus=campaign.corpus).exclude(
            campaign__state=Campaign.CLOSED
        )
        used = set(others.values_list("image", "kind"))
        rows = Control.objects.filter(campaign=campaign).select_related("image").order_by("pk")
        self._rows = [row for row in rows if self.ended and (row.image_id, row.kind) not in used]
        self._numbers = {row.pk: number for number, row in enumerate(self._rows, 1)}
        keys = others.values_list("image__key", "kind")
        self._hidden = set(keys) if self.ended else set()
        self._campaign = campaign

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each item."""
        for row in self._rows:
            yield {
                "id": self._numbers[row.pk],
                "kind": row.kind,
                "purpose": row.purpose,
                "image": row.image.key,
                "key": row.key,
                "shown": _visible_content(row.content),
                "known": row.known,
                "source": row.source,
                "in_use": row.active,
            }

    def answers(self) -> Iterator[dict[str, Any]]:
        """Yield the answers to them, each with the number of its item."""
        for answer in control_answers(self._campaign) if self._rows else ():
            if (number := self._numbers.get(answer["control"])) is not None:
                yield {**answer, "control": number}

    def without_hidden(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return an answer to a page without the pairs of control images that the bundle does not contain."""
        if "pairs" not in answer or not self._hidden:
            return answer
        kind = answer["kind"]
        pairs = [
            pair
            for pair in answer["pairs"]
            if pair["role"] != ROLE_CONTROL or (pair["image"], kind) not in self._hidden
        ]
        return {**answer, "pairs": pairs}


def _visible_content(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an item shows, captions by their names instead of ids of rows."""
    blocks = [tuple(caption) for block in content.get("blocks", ()) for caption in block["captions"]]
    single = [tuple(content["caption"])] if "caption" in content else []
    visible = {name: value for name, value in content.items() if name not in ("blocks", "caption")}
    if places := blocks + single:
        visible["captions"] = [caption_at(image, caption) for image, caption in places]
    return visible
