"""Campaigns: a corpus, the questions asked about it, and the settings they are asked under.

For now a campaign is answered by a simulated crowd, through the pure protocol; the layer that
comes out is written like any other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from annotation.models import Campaign, Corpus, Layer
from annotation.protocol.boxes import Limits
from annotation.protocol.mentions import find_mentions
from annotation.protocol.merging import MergeRules
from annotation.protocol.scores import Scores, compare
from annotation.protocol.state import ImageState, Settings
from annotation.protocol.terms import ImageRecord, LayerRecord, Mention
from annotation.rebuild import Share, write_layer
from annotation.selectors.corpora import corpus_named, layer_named
from annotation.selectors.records import stream_records
from annotation.simulation.driver import Cost, Crowd, Simulated, numbered, simulate_image
from annotation.simulation.gate import Gate, Gold, known_items
from annotation.simulation.standin import stand_in
from annotation.simulation.truth import Truth
from annotation.simulation.workers import PRESETS, crowd

ENTITIES = "entities"
TASKS = (ENTITIES,)

#: Who comes to a campaign that names no crowd, as shares of the workers.
USUAL_MIX: Mapping[str, float] = {"careful": 0.6, "average": 0.3, "sloppy": 0.1}
#: Layers that are taken for the truth unless one is named.
GOLD_LAYERS = ("gold", "import")
#: Images whose gold becomes control items, and the least crowd that can settle every question.
CONTROL_IMAGES = 30
SMALLEST_CROWD = 4


class CampaignError(ValueError):
    """A campaign that cannot be opened or run; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """What a simulated crowd did: the layer it made, what that cost, and how good it is.

    `scores` compares with gold where the corpus has a gold layer, else None (the answers then
    came from a stand-in, and agreement with it says nothing about the pictures).
    """

    layer: Layer
    cost: Cost
    scores: Scores | None
    suspended: Mapping[str, Sequence[str]]


def settings_of(values: Mapping[str, Any]) -> Settings:
    """Protocol settings from plain data (a TOML file, a stored campaign); absent ones are defaults.

    Raises CampaignError on an unknown name or a value that cannot be, naming it.
    """
    known = {f.name for f in fields(Settings)}
    if unknown := sorted(set(values) - known):
        raise CampaignError(f"unknown setting {unknown[0]!r}; known: {', '.join(sorted(known))}")
    given = dict(values)
    try:
        for name, kind in (("limits", Limits), ("merging", MergeRules)):
            if name in given:
                inner = dict(given[name])
                if "never" in inner:
                    inner["never"] = tuple((a, b) for a, b in inner["never"])
                given[name] = kind(**inner)
        return Settings(**given)
    except (TypeError, ValueError) as error:
        raise CampaignError(f"these settings cannot be: {error}") from error


def open_campaign(
    *, name: str, corpus: str, tasks: str, settings: Mapping[str, Any] | None = None
) -> Campaign:
    """Open a campaign over a published corpus; its settings are frozen as given.

    Opening it again with the same corpus, tasks and settings changes nothing.
    """
    if tasks not in TASKS:
        raise CampaignError(f"unknown tasks {tasks!r}; known: {', '.join(TASKS)}")
    frozen = json.loads(json.dumps(asdict(settings_of(settings or {}))))
    target = corpus_named(corpus)
    campaign, created = Campaign.objects.get_or_create(
        name=name, defaults={"corpus": target, "tasks": tasks, "settings": frozen}
    )
    if not created and (campaign.corpus_id, campaign.tasks, campaign.settings) != (target.pk, tasks, frozen):
        raise CampaignError(
            f"campaign {name!r} is open already with another corpus or other settings; choose another name"
        )
    return campaign


def campaign_named(name: str) -> Campaign:
    """The campaign of that name; raises CampaignError saying how to open one."""
    found = Campaign.objects.select_related("corpus").filter(name=name).first()
    if found is None:
        raise CampaignError(
            f"there is no campaign {name!r}; open one: open_campaign {name} --corpus CORPUS --tasks entities"
        )
    return found


def mix_of(workers: int, shares: Mapping[str, float] = USUAL_MIX) -> dict[str, int]:
    """`workers` people divided by `shares`, the largest remainders rounded up."""
    if workers < SMALLEST_CROWD:
        raise CampaignError(
            f"{workers} workers are too few: nobody judges a question twice or their own box, so "
            f"{SMALLEST_CROWD} are the least"
        )
    total = sum(shares.values())
    exact = {name: workers * share / total for name, share in shares.items()}
    mix = {name: int(number) for name, number in exact.items()}
    by_remainder = sorted(exact, key=lambda name: mix[name] - exact[name])
    for name in by_remainder[: workers - sum(mix.values())]:
        mix[name] += 1
    return {name: count for name, count in mix.items() if count}


def simulate_campaign(
    *,
    campaign: Campaign,
    mix: Mapping[str, int],
    seed: int,
    gold: str | None = None,
    chunked: bool = False,
    gated: bool = True,
    judgments: Path | None = None,
    each: Callable[[Iterable[ImageRecord]], Iterable[ImageRecord]] = lambda records: records,
) -> SimulationReport:
    """Answer every question of `campaign` by a simulated crowd, and write the layer named after it.

    Answers come from the layer `gold` (default: the layer "gold" or "import", if there is one),
    else from a stand-in over chunked mentions. `chunked` makes the chunker find the mentions
    although gold has them; answers then come from a stand-in too. Every judgment is written as
    a line of JSON to `judgments`. A layer of the campaign's name is replaced.
    """
    unknown = sorted(set(mix) - set(PRESETS))
    if unknown:
        raise CampaignError(f"unknown kind of worker {unknown[0]!r}; known: {', '.join(PRESETS)}")
    source = None if chunked else gold_layer(campaign.corpus, gold)
    gate = Gate(_controls(campaign.corpus, source, seed), seed=seed) if gated else None
    people = Crowd(crowd(mix, seed=seed), seed=seed, gate=gate)
    settings = settings_of(campaign.settings)
    cost, scores, number = Cost(), Scores(), 1
    log = judgments.open("w", encoding="utf-8") if judgments else None

    def shares() -> Iterator[Share]:
        nonlocal number
        for record in each(stream_records(corpus=campaign.corpus, layer=source)):
            truth = _truth(record, source is not None, seed)
            simulated = simulate_image(tuple(truth.mentions.values()), truth, people, settings)
            cost.add(simulated.cost)
            if record.layer is not None and source is not None:
                scores.add(compare(simulated.state.layer, record.layer))
            if log:
                _write(record.id, simulated, log.write)
            layer, number = numbered(simulated.state.layer, number)
            yield Share(record.id, layer, _stages(simulated.state, layer))
        spent.update(cost.as_dict())

    spent: dict[str, Any] = {}
    try:
        layer = write_layer(
            corpus=campaign.corpus,
            name=campaign.name,
            source="simulation",
            records=shares(),
            settings={**campaign.settings, "crowd": dict(mix), "seed": seed},
            cost=spent,
            replace=True,
        )
    finally:
        if log:
            log.close()
    return SimulationReport(layer, cost, scores if source else None, gate.suspended() if gate else {})


def gold_layer(corpus: Corpus, name: str | None = None) -> Layer | None:
    """The layer to answer from: the one named, else "gold" or "import" where there is one, else None."""
    if name is not None:
        return layer_named(corpus, name)
    found = {layer.name: layer for layer in corpus.layers.filter(name__in=GOLD_LAYERS, published=True)}
    return next((found[usual] for usual in GOLD_LAYERS if usual in found), None)


def gold_of(record: ImageRecord, *, seed: int) -> LayerRecord:
    """A stand-in for gold over the mentions the chunker finds in an image's captions."""
    mentions: Sequence[Mention] = find_mentions([caption.words for caption in record.captions])
    return stand_in(mentions, size=(record.width, record.height), seed=seed, image=record.id)


def _truth(record: ImageRecord, from_layer: bool, seed: int) -> Truth:
    gold = record.layer if from_layer and record.layer is not None else gold_of(record, seed=seed)
    return Truth(gold, image=record.id, size=(record.width, record.height))


def _controls(corpus: Corpus, source: Layer | None, seed: int) -> dict[str, Any]:
    """Control items from the first images' gold."""
    golds: list[Gold] = []
    for record in stream_records(corpus=corpus, layer=source):
        truth = record.layer if source and record.layer is not None else gold_of(record, seed=seed)
        golds.append((record.id, (record.width, record.height), truth))
        if len(golds) == CONTROL_IMAGES:
            break
    return known_items(golds, seed=seed)


def _stages(state: ImageState, layer: LayerRecord) -> dict[str, str]:
    """The stage of each printed chain; merged chains are closed, as all of their image are."""
    stage = {m.id: chain.stage for chain in state.chains for m in chain.mentions}
    return {chain.id: stage[chain.mentions[0].id] for chain in layer.chains}


def _write(image: str, simulated: Simulated, write: Callable[[str], object]) -> None:
    for judgment in simulated.judgments:
        line = {"image": image, **{k: v for k, v in asdict(judgment).items() if v not in ("", None, False)}}
        write(json.dumps(line) + "\n")
