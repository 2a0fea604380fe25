"""Arrow streams: they contain the same data as the answers and the layer, in batches."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from annotation.datasets.contents import arrow_tables
from annotation.models import Account, Campaign
from annotation.selectors.answers import answers
from annotation.selectors.corpora import corpus_named, layer_named
from annotation.selectors.records import stream_records
from tests.api.v1.conftest import Caller

pytestmark = pytest.mark.django_db


def table(answer: Any) -> pa.Table:
    assert answer["Content-Type"] == arrow_tables.ARROW_TYPE
    return pa.ipc.open_stream(io.BytesIO(b"".join(answer.streaming_content))).read_all()


def test_judgments_come_as_they_are_with_all_that_their_kind_says(researcher: Caller) -> None:
    for name in ("quay", "review"):
        campaign = Campaign.objects.get(name=name)
        result = table(researcher.get(f"campaigns/{name}/judgments.arrow")).to_pylist()
        lines = list(answers(campaign))
        assert result and len(result) == len(lines)
        for row, answer in zip(result, lines, strict=True):
            more = json.loads(row.pop("more") or "{}")
            assert {**row, **more, "at": row["at"].isoformat()} == answer


def test_a_layer_comes_as_its_mentions_with_chains_and_boxes(researcher: Caller) -> None:
    result = table(researcher.get("corpora/quay/layers/import/mentions.arrow")).to_pylist()
    corpus = corpus_named("quay")
    records = list(stream_records(corpus=corpus, layer=layer_named(corpus, "import")))
    lines = [
        (record.id, mention.caption, mention.start, mention.end, mention.text)
        for record in records
        if record.layer is not None
        for chain in record.layer.chains
        for mention in chain.mentions
    ]
    assert (
        lines
        and [tuple(row[key] for key in ("image", "caption", "start", "end", "text")) for row in result]
        == lines
    )
    boxes = sum(len(record.layer.depicted()) for record in records if record.layer is not None)
    assert len({(row["image"], row["chain"]) for row in result if row["boxes"]}) == boxes > 0


def test_a_stream_is_cut_into_batches(tmp_path: Path) -> None:
    rows = ({"kind": "x", "seconds": float(n)} for n in range(5_000))
    done = arrow_tables.write_arrow(arrow_tables.JUDGMENT_COLUMNS, rows, tmp_path / "x.arrow")
    with pa.ipc.open_stream(str(tmp_path / "x.arrow")) as read:
        assert [batch.num_rows for batch in read] == [2000, 2000, 1000] and done.rows == 5000


def test_workers_of_a_kind_that_nobody_is_asked_are_told_to_be_none(researcher: Caller) -> None:
    answer = researcher.get("campaigns/quay/workers", kind="nothing")
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    assert [error["field"] for error in answer.json()["errors"]] == ["kind"]


def test_a_layer_or_campaign_that_is_none_is_told(researcher: Caller) -> None:
    for path in ("corpora/quay/layers/none/mentions.arrow", "campaigns/none/judgments.arrow"):
        answer = researcher.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown")
    reviewer = Caller(Account.objects.get(username="reviewer"))
    assert reviewer.get("campaigns/quay/judgments.arrow").status_code == 403
