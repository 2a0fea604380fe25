"""A rehearsal through the pure protocol. The resulting layer is written like any other."""

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from annotation.campaigns import gold_layer
from annotation.campaigns.states import mark_simulated
from annotation.datasets.layer_rows import SIMULATION_SOURCE, LayerShare, stages_of, write_layer
from annotation.models import Campaign, Corpus, Layer
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.protocol.gold import Gold
from annotation.protocol.scores import LayerScores, compare_layers
from annotation.protocol.terms import ImageRecord
from annotation.selectors.records import stream_records
from annotation.simulation.driver import Crowd, SimulatedImage, SimulationCost, numbered, simulate_image
from annotation.simulation.gate import Gate, control_items_from_gold
from annotation.simulation.workers import make_crowd
from annotation.simulation_driver.people import check_mix
from annotation.simulation_driver.truths import gold_of, truth_of
from annotation.task_types import discovery

#: Number of images whose gold becomes control items.
CONTROL_IMAGES = 30


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """The result of a simulated crowd: its layer, the cost, and the quality.

    `scores` compares with gold if the corpus has a gold layer, else None (the answers then came from a
    stand-in, and agreement with it says nothing about the pictures). `uncovered` is the number of images that
    were skipped because the gold layer does not cover them.
    """

    layer: Layer
    cost: SimulationCost
    scores: LayerScores | None
    suspended: Mapping[str, Sequence[str]]
    uncovered: int


def simulate_campaign(
    *,
    campaign: Campaign,
    mix: Mapping[str, int],
    seed: int,
    gold: str | None = None,
    chunked: bool = False,
    gated: bool = True,
    judgments: Path | None = None,
    transform: Callable[[Iterable[ImageRecord]], Iterable[ImageRecord]] = lambda records: records,
) -> SimulationReport:
    """Answer every question of `campaign` by a simulated crowd, and write the layer named after it.

    Answers come from the layer `gold` (default: the layer "gold" or "import", if there is one), else from a
    stand-in over chunked mentions. With `chunked`, the chunker finds the mentions although there is gold;
    answers then come from a stand-in too. Every judgment is written as a line of JSON to `judgments`. A layer
    of the campaign's name is replaced, and the campaign is marked as simulated, for good.
    """
    discovery.load_kind_modules("simulate")
    check_mix(mix)
    if campaign.judgments.exists():
        raise CampaignError(
            f"people have answered in campaign {campaign.name!r}, and its layer must not be replaced by a "
            "simulation's: send the crowd through the queue, or open another campaign"
        )
    if chunked and gold:
        raise CampaignError(
            "gold mentions cannot be both chunked again and answered from; name one of the two"
        )
    stored = (
        campaign.corpus.layers.filter(name=campaign.name, published=True)
        .exclude(source=SIMULATION_SOURCE)
        .first()
    )
    if stored is not None:
        raise CampaignError(
            f"corpus {campaign.corpus.name!r} has a layer {campaign.name!r} that is no simulation "
            f"({stored.source}) and must not be replaced; open the campaign under another name"
        )
    source = None if chunked else gold_layer(campaign.corpus, gold)
    mark_simulated(campaign=campaign)
    settings = settings_of(campaign.settings)
    gate = None
    if gated:
        # Everybody is admitted, so that the effect of their work is visible.
        trust = replace(settings.trust, qualification=False)
        gate = Gate(_controls(campaign.corpus, source, seed), seed=seed, settings=trust)
    people = Crowd(make_crowd(mix, seed=seed), seed=seed, gate=gate)
    cost, scores, number, uncovered = SimulationCost(), LayerScores(), 1, 0

    def shares(write: Callable[[str], object] | None) -> Iterator[LayerShare]:
        nonlocal number, uncovered
        for record in transform(stream_records(corpus=campaign.corpus, layer=source)):
            if source is not None and record.layer is None:
                uncovered += 1
                continue
            truth = truth_of(record, seed=seed)
            mentions = tuple(truth.mentions.values())
            simulated = simulate_image(mentions, truth, people, settings.protocol)
            cost.add(simulated.cost)
            if source is not None and record.layer is not None:
                scores.add(compare_layers(simulated.state.layer, record.layer))
            if write:
                _write(record.id, simulated, write)
            layer, number = numbered(simulated.state.layer, number)
            yield LayerShare(record.id, layer, stages_of(simulated.state, layer))
        spent.update(cost.as_dict())

    spent: dict[str, Any] = {}
    with _written_whole(judgments) as write:
        layer = write_layer(
            corpus=campaign.corpus,
            name=campaign.name,
            source=SIMULATION_SOURCE,
            records=shares(write),
            settings={**campaign.settings, "crowd": dict(mix), "seed": seed},
            cost=spent,
            replace=True,
        )
    suspended = gate.suspended() if gate else {}
    return SimulationReport(layer, cost, scores if source else None, suspended, uncovered)


@contextlib.contextmanager
def _written_whole(path: Path | None) -> Iterator[Callable[[str], object] | None]:
    """Yield a function that writes to `path`, which changes only when the block succeeds; None without
    one."""
    if path is None:
        yield None
        return
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        try:
            yield file.write
        except BaseException:
            os.unlink(file.name)
            raise
    os.replace(file.name, path)


def _controls(corpus: Corpus, source: Layer | None, seed: int) -> dict[str, Any]:
    """Return control items from the first images' gold."""
    golds: list[Gold] = []
    for record in stream_records(corpus=corpus, layer=source):
        if source is None or record.layer is not None:
            golds.append((record.id, (record.width, record.height), gold_of(record, seed=seed)))
        if len(golds) == CONTROL_IMAGES:
            break
    return control_items_from_gold(golds, seed=seed)


def _write(image: str, simulated: SimulatedImage, write: Callable[[str], object]) -> None:
    for judgment in simulated.judgments:
        line = {"image": image, **{k: v for k, v in asdict(judgment).items() if v not in ("", None, False)}}
        write(json.dumps(line) + "\n")
