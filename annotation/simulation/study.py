"""Effect of the order of candidate chains: `likely_first` against `as_printed`.

For each error rate and seed the same images go through the same crowd twice, once per order. The study
reports questions per mention (links), judgments per image, B-cubed chain F1 and box IoU, each with a
bootstrap interval over images (all seeds of an image are drawn together), and the difference between the
orders with its own interval from the same draws.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from annotation.protocol.coreference import AS_PRINTED, LIKELY_FIRST, LinkOrder
from annotation.protocol.gold import Gold, Truth
from annotation.protocol.kinds import all_kinds
from annotation.protocol.rng import SeededRng
from annotation.protocol.scores import LayerScores, compare_layers
from annotation.protocol.state import ImageSettings
from annotation.simulation.driver import Crowd, simulate_image
from annotation.simulation.workers import with_error

_ORDERS: tuple[LinkOrder, ...] = (LIKELY_FIRST, AS_PRINTED)
RATES = (0.0, 0.03, 0.08, 0.2)
SEEDS = 5
_WORKERS = 12
MEASURES = ("links_per_mention", "judgments_per_image", "chain_f1", "box_iou")


@dataclass(frozen=True, slots=True)
class SavingRow:
    """One measure of one order at one error rate: its value and 95 % interval."""

    rate: float
    order: str
    measure: str
    value: float
    low: float
    high: float


@dataclass(slots=True)
class _Image:
    """Cost and result of one image, summed over seeds."""

    links: int
    judgments: int
    mentions: int
    runs: int
    scores: LayerScores


def study_costs(
    images: Sequence[Gold],
    *,
    rates: Sequence[float] = RATES,
    seeds: int = SEEDS,
    resamples: int = 1000,
    step: Callable[[], object] = lambda: None,
) -> list[SavingRow]:
    """Run the study; `step` is called after every image (len(images) x rates x seeds x 2 times).

    Raises ValueError without images and for a rate that is no probability.
    """
    if not images:
        raise ValueError("the cost study needs one image with a gold layer or more")
    for rate in rates:
        if not 0 <= rate <= 1:
            raise ValueError(f"error rate {rate} is no probability; expected 0 to 1")
    rows: list[SavingRow] = []
    for rate in rates:
        orders: dict[str, list[_Image]] = {
            order: _run(images, order=order, rate=rate, seeds=seeds, step=step) for order in _ORDERS
        }
        rows.extend(_rows(rate, orders, resamples))
    return rows


def as_dicts(rows: Sequence[SavingRow]) -> list[dict[str, object]]:
    """Return rows of a study as plain data."""
    return [asdict(row) for row in rows]


def _run(
    images: Sequence[Gold], *, order: LinkOrder, rate: float, seeds: int, step: Callable[[], object]
) -> list[_Image]:
    settings = ImageSettings(order=order)
    results = [_Image(0, 0, 0, 0, LayerScores()) for _ in images]
    for seed in range(seeds):
        crowd = Crowd(with_error(rate, _WORKERS, seed=seed), seed=seed)
        for (name, size, gold), result in zip(images, results, strict=True):
            run = simulate_image(gold.mentions, Truth(gold, image=name, size=size), crowd, settings)
            result.links += sum(
                run.cost.judgments[kind.key] for kind in all_kinds() if kind.mentions == (2, 2)
            )
            result.judgments += run.cost.total
            result.mentions += run.cost.mentions
            result.runs += 1
            result.scores.add(compare_layers(run.state.layer, gold))
            step()
    return results


def _measures(results: Sequence[_Image], drawn: Sequence[int]) -> tuple[float, ...]:
    """Return the four measures over the images with indices `drawn`."""
    scores = LayerScores()
    links = judgments = mentions = runs = 0
    for i in drawn:
        result = results[i]
        links += result.links
        judgments += result.judgments
        mentions += result.mentions
        runs += result.runs
        scores.add(result.scores)
    return (links / max(mentions, 1), judgments / max(runs, 1), scores.f1, scores.iou)


def _rows(rate: float, orders: dict[str, list[_Image]], resamples: int) -> Iterator[SavingRow]:
    count = len(orders[LIKELY_FIRST])
    whole = {order: _measures(results, range(count)) for order, results in orders.items()}
    draws: dict[str, list[tuple[float, ...]]] = {order: [] for order in orders}
    for resample in range(resamples):
        rng = SeededRng("study", rate, resample)
        drawn = [rng.below(count) for _ in range(count)]
        for order, results in orders.items():
            draws[order].append(_measures(results, drawn))
    whole["difference"] = tuple(a - b for a, b in zip(whole[LIKELY_FIRST], whole[AS_PRINTED], strict=True))
    draws["difference"] = [
        tuple(a - b for a, b in zip(first, two, strict=True))
        for first, two in zip(draws[LIKELY_FIRST], draws[AS_PRINTED], strict=True)
    ]
    for order, values in whole.items():
        for i, measure in enumerate(MEASURES):
            spread = sorted(draw[i] for draw in draws[order])
            low, high = spread[int(0.025 * resamples)], spread[min(int(0.975 * resamples), resamples - 1)]
            yield SavingRow(rate, order, measure, values[i], low, high)
