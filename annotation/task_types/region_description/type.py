"""Draw boxes around parts of a picture and describe each. Karpathy and Fei-Fei 2015, section 4.3."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, NotRequired

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field
from typing_extensions import TypedDict

from annotation.protocol.contents import corners
from annotation.protocol.questions import DRAWING_WAYS, Answer
from annotation.protocol.terms import SMALLEST_SIDE, Box, is_too_small
from annotation.task_types.base import (
    TASK_TYPES,
    BadAnswer,
    BoxCorners,
    Choice,
    Page,
    TaskType,
    WayText,
    box_in,
    text_in,
)
from annotation.task_types.box_drawing.type import EDGES
from annotation.task_types.displayed import DisplayedImage
from annotation.task_types.region_description.rules import REGION_DESCRIPTION

#: Maximum number of characters of a region's text, and of regions in one answer.
LONGEST_REGION_TEXT, _MOST_REGIONS = 120, 50


class Region(NamedTuple):
    """A described part of a picture; `way` as in a drawn box."""

    box: Box
    text: str
    way: str


class RegionPayload(TypedDict):
    """A region as a program sends it."""

    box: BoxCorners
    text: Annotated[str, Field(min_length=1, max_length=LONGEST_REGION_TEXT)]
    way: NotRequired[WayText | None]


class RegionDescription(TaskType):
    """A picture, and an editor for a number of boxes with a short text each.

    Content: {"regions": number}; the answer's: {"regions": [{"box": [...], "text": ..., "way": ...}]}.
    """

    key = REGION_DESCRIPTION
    task_fields = {"regions": int}
    answer_fields = {"regions": Annotated[list[RegionPayload], Field(min_length=1, max_length=_MOST_REGIONS)]}
    title = gettext_lazy("Describe parts of a picture")
    summary = gettext_lazy(
        "A picture: draw boxes around parts of it, and say in a few words what each shows."
    )
    name = gettext_lazy("region description")
    question_words = gettext_lazy("describe its parts")
    yields = gettext_lazy("boxes around parts of each picture, each with a few words")
    answer_words = {
        "described": gettext_lazy("described regions"),
    }
    choices = (
        Choice("described", gettext_lazy("Send these regions"), gettext_lazy("each with a few words")),
    )

    def page(self, content: Mapping[str, Any], image: DisplayedImage) -> Page:
        return Page(choices=self.choices, about=content["regions"])

    def api_content(
        self, content: Mapping[str, Any], image: Callable[[DisplayedImage], Any]
    ) -> dict[str, Any]:
        return {"regions": content["regions"]}

    def parse(self, data: Mapping[str, Any]) -> Answer:
        answer = super().parse(data)
        if answer.flag:
            return answer
        regions_payload = data.get("regions")
        if not isinstance(regions_payload, list) or not 0 < len(regions_payload) <= _MOST_REGIONS:
            raise BadAnswer("regions", _("Draw the regions first, and say what each shows."))
        regions = [_region(number, region_data) for number, region_data in enumerate(regions_payload, 1)]
        if len({region.box for region in regions}) < len(regions):
            raise BadAnswer("regions", _("Two regions have the same box: draw another one."))
        return Answer(
            answer.answer,
            content={
                "regions": [
                    {"box": corners(region.box), "text": region.text, "way": region.way} for region in regions
                ]
            },
        )

    def from_form(self, form: Mapping[str, str]) -> dict[str, Any]:
        data = super().from_form(form)
        if data["answer"] != "described":
            return data
        regions: list[dict[str, Any]] = []
        for number in range(_MOST_REGIONS):
            values = [form.get(region_field_name(number, edge), "").strip() for edge in EDGES]
            text = form.get(region_field_name(number, "text"), "")
            if not any(values) and not text.strip():
                continue
            if not all(edge.isascii() and edge.isdigit() and len(edge) < 7 for edge in values):
                raise BadAnswer("regions", _("Draw a box for “%(text)s” first.") % {"text": text.strip()})
            box = [int(edge) for edge in values]
            if is_too_small(box[2] - box[0] + 1, box[3] - box[1] + 1):
                raise BadAnswer(
                    "regions",
                    _("Region %(number)d is too small: each side needs at least %(pixels)d pixels.")
                    % {"number": len(regions) + 1, "pixels": SMALLEST_SIDE},
                )
            way = form.get(region_field_name(number, "way"), "")
            regions.append({"box": box, "text": text, "way": way if way in DRAWING_WAYS else ""})
        return {**data, "regions": regions}

    def to_form(self, answer: Answer) -> dict[str, str]:
        form = super().to_form(answer)
        for number, region in enumerate((answer.content or {}).get("regions", ())):
            fields = {**dict(zip(EDGES, map(str, region["box"]), strict=True)), "text": region["text"]}
            fields["way"] = region.get("way", "")
            form |= {region_field_name(number, name): value for name, value in fields.items()}
        return form


def region_field_name(number: int, name: str) -> str:
    """Return the name of a field of region `number` (from 0)."""
    return f"region-{number}-{name}"


def _region(number: int, value: Any) -> Region:
    if not isinstance(value, Mapping):
        raise BadAnswer("regions", _("A region is {“box”: [...], “text”: “...”}."))
    text = " ".join(text_in(value, "text").split())
    if not text:
        raise BadAnswer("regions", _("Say what region %(number)d shows.") % {"number": number})
    if len(text) > LONGEST_REGION_TEXT:
        raise BadAnswer(
            "regions",
            _("Region %(number)d has %(length)d characters: a few words are enough, %(most)d at most.")
            % {"number": number, "length": len(text), "most": LONGEST_REGION_TEXT},
        )
    way = text_in(value, "way")
    if way and way not in DRAWING_WAYS:
        raise BadAnswer("way", _("“%(given)s” is not a way of drawing a box.") % {"given": way})
    return Region(box_in(value.get("box")), text, way)


TASK_TYPES.register(RegionDescription.key, RegionDescription())
