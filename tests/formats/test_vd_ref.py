"""Clusters and boxes of another project's corpus are preserved by the JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotation.formats import FORMATS
from annotation.protocol.scores import b_cubed
from phrasebox.text_files import FormatError
from tests.formats.vd_ref import VdRef


@pytest.fixture(scope="module")
def source(real_data: Path) -> Path:
    return real_data / "vd_ref" / "val.jsonlines"


@pytest.fixture(scope="module")
def imported(source: Path, tmp_path_factory: pytest.TempPathFactory):
    """The records read from JSON lines, and the converter that wrote them."""
    out = tmp_path_factory.mktemp("vd_ref")
    converter = VdRef(source)
    FORMATS.get("jsonl").write(converter, out)
    return list(FORMATS.get("jsonl").read(out)), converter


def counted_b_cubed(result: dict[str, int], gold: dict[str, int]) -> tuple[float, float]:
    """Return sums of precision and recall, by counting for each mention who else is with it (Bagga and
    Baldwin)."""
    precision = recall = 0.0
    for row in result.keys() & gold.keys():
        with_it = [another for another in result if result[another] == result[row]]
        gold_with_it = [another for another in gold if gold[another] == gold[row]]
        right = sum(another in gold_with_it for another in with_it)
        precision += right / len(with_it)
        recall += right / len(gold_with_it)
    return precision, recall


def test_the_corpus_comes_through_whole_but_for_spans_in_two_clusters(imported):
    records, converter = imported
    assert records == list(VdRef(converter.file))
    assert len(records) == 1063
    mentions = sum(len(record.layer.mentions) for record in records)
    assert (mentions, len(converter.repeated), len(converter.excluded)) == (8883, 70, 42)
    assert sum(len(record.layer.chains) for record in records) == 2503
    assert sum(len(record.layer.objects) for record in records) == 3074


def test_round_tripped_clusters_score_as_an_independent_count_says(imported, source):
    records, _ = imported
    ours, counted, mentions, in_gold = [0.0, 0.0], [0.0, 0.0], 0, 0
    for record, line in zip(records, source.read_text("utf-8").splitlines(), strict=True):
        dialogue = json.loads(line)
        # A span in two clusters counts in each; in the first one under its plain name.
        gold: dict[str, int] = {}
        for ref in dialogue["text_ref"]:
            name = f"{ref['sentence_id']}:{ref['start']}-{ref['end'] + 1}"
            if gold.setdefault(name, ref["cluster_id"]) != ref["cluster_id"]:
                gold[f"{name} in {ref['cluster_id']}"] = ref["cluster_id"]
        numbers = {m.id: number for number, chain in enumerate(record.layer.chains) for m in chain.mentions}
        precision, recall = counted_b_cubed(numbers, gold)
        counted[0] += precision
        counted[1] += recall
        scores = b_cubed(
            [[m.id for m in chain.mentions] for chain in record.layer.chains],
            [[name for name in gold if gold[name] == cluster] for cluster in set(gold.values())],
        )
        ours[0] += scores.precision_sum
        ours[1] += scores.recall_sum
        mentions += len(numbers)
        in_gold += len(gold)
    assert in_gold == 8995 - 70
    assert ours == pytest.approx(counted, abs=1e-9)
    assert counted[0] / mentions == pytest.approx(1.0)
    # The missing recall is that of the spans that were left out.
    assert counted[1] / in_gold == pytest.approx(0.99287, abs=5e-5)


def test_the_notation_of_entities_refuses_mentions_that_nest(imported, tmp_path):
    records, _ = imported
    with pytest.raises(FormatError, match="overlaps the one before it, which the notation cannot represent"):
        FORMATS.get("entities").write(records, tmp_path)
