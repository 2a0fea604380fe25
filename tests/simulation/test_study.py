"""The cost study on a few images."""

import pytest

from annotation.simulation.study import MEASURES, study_costs
from tests.simulation.build import world


def images(count: int):
    return [(str(i), (500, 400), gold) for i, (_, _, gold) in enumerate(world(count))]


def test_without_errors_both_orders_find_the_gold_and_likely_first_asks_less():
    rows = {(r.order, r.measure): r for r in study_costs(images(25), rates=(0.0,), seeds=2, resamples=100)}
    for order in ("likely_first", "as_printed"):
        assert rows[order, "chain_f1"].value == rows[order, "box_iou"].value == 1.0
    saved = rows["difference", "links_per_mention"]
    assert saved.high < 0 and saved.low <= saved.value <= saved.high


def test_errors_cost_judgments_and_quality_and_every_cell_has_its_interval():
    rows = study_costs(images(10), rates=(0.0, 0.2), seeds=2, resamples=100)
    assert len(rows) == 2 * 3 * len(MEASURES)
    cells = {(r.rate, r.order, r.measure): r for r in rows}
    for order in ("likely_first", "as_printed"):
        assert cells[0.2, order, "judgments_per_image"].value > cells[0.0, order, "judgments_per_image"].value
        assert cells[0.2, order, "chain_f1"].value < 1.0
    for row in rows:
        assert row.low <= row.value <= row.high


@pytest.mark.parametrize(("provided", "message"), [([], "one image"), (None, "no probability")])
def test_a_study_that_cannot_be_is_refused(provided, message):
    with pytest.raises(ValueError, match=message):
        study_costs(images(1) if provided is None else provided, rates=(1.5,))
