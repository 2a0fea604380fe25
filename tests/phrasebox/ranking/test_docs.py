"""docs/metrics.md names the entries of METRICS."""

from __future__ import annotations

from phrasebox.metrics import METRICS
from tests.conftest import REPOSITORY


def test_the_docs_list_every_measure_and_no_other():
    text = (REPOSITORY / "docs" / "metrics.md").read_text()
    table = text.split("| measure |")[1].split("\n\n")[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[2:]]
    assert rows == list(METRICS.names())
    for measure in METRICS:
        assert measure.title in table
