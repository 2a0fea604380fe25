"""Draw boxes around parts of a picture and describe each. Karpathy and Fei-Fei 2015, section 4.3.

Chosen regions cannot be graded: there are no control items, and no test. The number of workers who describe
regions is our choice.
"""

from collections.abc import Callable, Mapping
from typing import Any

from annotation.protocol.kinds import (
    ABOUT_IMAGE,
    KINDS,
    MEASURED_ON_NOTHING,
    AnswerTimeEstimate,
    BadContent,
    Kind,
    Number,
)
from annotation.protocol.words import gettext_noop as _

REGION_DESCRIPTION = "region_description"
REGIONS = "regions"
_SOURCE = "Karpathy and Fei-Fei 2015, section 4.3"


def _content(number: Callable[[str], int]) -> dict[str, Any]:
    return {"regions": number(REGIONS)}


def _check(content: Mapping[str, Any], number: Callable[[str], int]) -> None:
    regions = content.get("regions", ())
    if len(regions) != number(REGIONS):
        text = _("%(regions)d regions: expected %(expected)d")
        raise BadContent(REGIONS, text, regions=len(regions), expected=number(REGIONS))


RULES = Kind(
    key=REGION_DESCRIPTION,
    tasks="regions",
    answers=("described",),
    about=ABOUT_IMAGE,
    sort_order=100,
    with_content=frozenset({"described"}),
    writes=True,
    tested=False,
    measured_on=MEASURED_ON_NOTHING,
    numbers={
        REGION_DESCRIPTION: Number(9, _SOURCE, _("Workers who describe regions of each image")),
        REGIONS: Number(5, _SOURCE, _("Regions that each of them describes")),
    },
    content=_content,
    check=_check,
    answer_time=AnswerTimeEstimate(150.0, 75.0, 300.0, _("assumed; nobody has measured it")),
    built_in=True,
)

KINDS.register(RULES.key, RULES)
