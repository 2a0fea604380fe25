"""Cases without output: the names of their treatments, and the refusal."""

from __future__ import annotations

import pytest

from evaluation.comparison.missing import (
    LEAVE_OUT,
    MISSING_CHOICES,
    REFUSE,
    WORST,
    MissingOutput,
    check_missing,
)

LACKING = ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]


def test_missing_output_is_refused_with_its_number_unless_somebody_chooses_otherwise() -> None:
    with pytest.raises(MissingOutput) as caught:
        check_missing(REFUSE, lacking=LACKING, out_of=125, cases="images", output="caption")
    assert str(caught.value) == (
        "4 of 125 images ('a.jpg', 'b.jpg', 'c.jpg', ...) have no caption: supply them, choose other images, "
        "or choose 'worst' or 'leave-out' for missing images"
    )
    for missing in (WORST, LEAVE_OUT):
        check_missing(missing, lacking=LACKING, out_of=125, cases="images", output="caption")
    for missing in MISSING_CHOICES:
        check_missing(missing, lacking=[], out_of=125, cases="images", output="caption")
    with pytest.raises(MissingOutput, match="missing images 'drop': expected refuse, worst, leave-out"):
        check_missing("drop", lacking=[], out_of=125, cases="images", output="caption")
