"""What a model annotator saves a campaign: people alone against a model annotator from nothing, a trained
one, and a bad one.

    python -m studies.model_annotators [--images N] [--seeds N] [--arms a,a+savings,b,bad] [--processes N]
        [--trained N [--epochs N] [--save FOLDER] | --proposer FOLDER]
    python -m studies.model_annotators --arms savings[,b+savings]
    python -m studies.model_annotators --boxes --proposer FOLDER

Generated scenes go through a simulated crowd (60 % careful, 30 % average, 10 % sloppy) by the printed
protocol, with people alone and with a model annotator whose boxes they accept or refuse:

    a     a model annotator that begins with nothing and learns from what is finished, first after 40 images
    and
          again after each further 40, as the service does that a campaign's job calls
    a+savings     as a, with all settings on that spare people questions
    b     a proposer trained on other scenes beforehand (`--trained`, or one that is stored)
    bad   random boxes, of which the model annotator is sure
    savings       no model annotator: each setting that spares people questions, all of them, and coverage by
    count
                  where the count that the phrases name is wrong for 30 % of the chains
    b+savings     as b, with all of them on

The chances of links are learned from other scenes (`--learn-from`).

`--boxes` says instead how good the first box of each chain is, by category and by the model annotator's own
chance.

The figures are those of `annotation.simulation.model_study`; `studies/RESULTS.md` holds the output.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Picture

from annotation.formats.jsonl import record_of
from annotation.protocol import image as image_fold
from annotation.protocol.gold import TIGHT, Gold
from annotation.protocol.likely_count import likely_count
from annotation.protocol.link_chances import LinkChances, learn_chances
from annotation.protocol.model_annotators import ModelAnnotatorSettings, Proposals, ProposedBox, learns_now
from annotation.protocol.rng import SeededRng
from annotation.protocol.state import ImageSettings
from annotation.protocol.terms import Box, LayerRecord, Mention, representative
from annotation.simulation.economy import ALL_SAVINGS, COVERAGE_BY_COUNT, saving_arms
from annotation.simulation.model_study import (
    PEOPLE_ALONE,
    StudiedArm,
    boxes_anywhere,
    known_proposals,
    people_alone,
    run_arm,
    study_of,
    study_table,
)
from annotation.simulation.simulated_model import SimulatedModel
from annotation.task_types import discovery
from models_core.estimators.neural.proposer.box_proposer import BoxProposer
from models_core.estimators.neural.proposer.examples import TrainingPhrase, TrainingPicture
from models_core.estimators.neural.proposer.training import ProposerSettings
from phrasebox.device import CPU
from scenes.generate import generate_scene

#: The seed of the annotated scenes, and of those that a model annotator is trained on.
ANNOTATED, TRAINED = 1, 7
_SETTINGS = ModelAnnotatorSettings(share=1.0)
#: Share of the chains whose phrases are changed to name a wrong number.
WRONG_COUNTS = 0.3
ScenePicture = tuple[Gold, NDArray[np.uint8]]


def scene(index: int, seed: int, side: int) -> ScenePicture:
    """Return a generated scene with its gold, and its picture as a square."""
    drawn = generate_scene(index, seed=seed)
    record = record_of(drawn.image)
    assert record.layer is not None
    square = drawn.picture.convert("RGB").resize((side, side), Picture.Resampling.BOX)
    return (record.id, (record.width, record.height), record.layer), np.asarray(square, np.uint8)


def training_picture(scene_picture: ScenePicture, layer: LayerRecord | None = None) -> TrainingPicture:
    """Return a scene as training data of a model annotator, with the boxes of `layer`, or of its gold."""
    (_, (width, height), gold), colours = scene_picture
    layer = layer or gold
    depicted = layer.depicted()
    scale = np.array([width, height, width, height])
    phrases = [
        TrainingPhrase(
            tuple(mention.tokens for mention in chain.mentions),
            np.array([(b.xmin - 1, b.ymin - 1, b.xmax, b.ymax) for b in depicted[chain.id]]) / scale,
        )
        for chain in layer.chains
        if chain.id in depicted and chain.mentions
    ]
    return TrainingPicture(colours, tuple(phrases))


def proposed(proposer: BoxProposer, scenes: Sequence[ScenePicture]) -> dict[str, Proposals]:
    """Return a proposer's boxes for every mention of these scenes."""
    mentions = [gold.mentions for (_, _, gold), _ in scenes]
    boxes_of_scenes = proposer.propose(
        [colours for _, colours in scenes],
        [[m.tokens for m in scene_mentions] for scene_mentions in mentions],
    )
    proposals: dict[str, Proposals] = {}
    for ((image, size, _), _), scene_mentions, rows in zip(scenes, mentions, boxes_of_scenes, strict=True):
        proposals[image] = {
            mention.id: [ProposedBox(_pixels(row, size), float(row[4])) for row in boxes]
            for mention, boxes in zip(scene_mentions, rows, strict=True)
        }
    return proposals


def _pixels(row: NDArray[np.float64], size: tuple[int, int]) -> Box:
    width, height = size
    xmin = min(max(1, round(row[0] * width) + 1), width)
    ymin = min(max(1, round(row[1] * height) + 1), height)
    return Box(
        xmin,
        ymin,
        min(max(xmin, round(row[2] * width)), width),
        min(max(ymin, round(row[3] * height)), height),
    )


def arm_a(
    scenes: Sequence[ScenePicture],
    settings: ModelAnnotatorSettings,
    say: Callable[[str], object],
    device: str = CPU,
) -> Callable[[int], Any]:
    """Return a model annotator that is trained on finished images, and proposes with this training until the
    next one."""

    def make(seed: int) -> Any:
        proposals: dict[str, Proposals] = {}
        model_annotator = SimulatedModel(proposals.get, settings=settings, seed=seed)
        state: dict[str, Any] = {"learned": None, "proposer": None, "pictures": []}

        def finished(index: int, layer: LayerRecord) -> None:
            state["pictures"].append(training_picture(scenes[index], layer))
            done = index + 1
            if done == len(scenes) or not learns_now(settings, finished=done, learned=state["learned"]):
                return
            begin, pictures = state["proposer"], [p for p in state["pictures"] if p.phrases]
            proposer = BoxProposer()
            learned = proposer.learned_from(pictures)
            steps = proposer.settings.training_steps(learned, from_scratch=begin is None)
            began = time.process_time()
            proposer.fit(pictures, seed=seed + done, begin=begin, device=device, steps=steps)
            state["learned"], state["proposer"] = done, proposer
            model_annotator.learned()
            later = range(done + 1, len(scenes))
            again = (n for n in later if learns_now(settings, finished=n, learned=done))
            until = next(again, len(scenes))
            proposals.update(proposed(proposer, scenes[done:until]))
            say(f"  seed {seed}: learned from {done} images in {time.process_time() - began:.0f} s of CPU")

        return model_annotator, finished

    return make


@contextmanager
def wrong_counts(share: float) -> Iterator[None]:
    """Within the context, the phrases of this share of the chains name one thing more or fewer than there
    are."""

    def count(mentions: Iterable[Mention]) -> int:
        phrases = list(mentions)
        named = likely_count(phrases)
        rng = SeededRng("wrong count", *(mention.id + mention.text for mention in phrases))
        if not named or not rng.chance(share):
            return named
        return named + 1 if named == 1 or rng.chance(0.5) else named - 1

    image_fold.likely_count = count
    try:
        yield
    finally:
        image_fold.likely_count = likely_count


def run_savings(images: Sequence[Gold], chances: LinkChances, seeds: range) -> Iterator[StudiedArm]:
    """Yield people alone with each saving, with all, and with coverage by count for wrong counts."""
    arms = saving_arms(chances)
    for name, settings in arms.items():
        yield run_arm(name, images, people_alone, seeds=seeds, settings=settings)
    with wrong_counts(WRONG_COUNTS):
        name = f"{COVERAGE_BY_COUNT}, {WRONG_COUNTS:.0%} wrong"
        yield run_arm(name, images, people_alone, seeds=seeds, settings=arms[COVERAGE_BY_COUNT])


def report_boxes(proposals: dict[str, Proposals], images: Sequence[Gold]) -> None:
    """Print in how many chains with boxes the first proposal is accepted by its IoU."""
    boxes: list[tuple[str, float, bool]] = []
    for image, _size, gold in images:
        depicted = gold.depicted()
        for chain in gold.chains:
            if chain.id in depicted and chain.mentions:
                first = proposals[image][representative(chain.mentions).id][0]
                best = max(first.box.iou(box) for box in depicted[chain.id])
                boxes.append((chain.categories[0], first.chance, best >= TIGHT))
    right = sum(good for *_, good in boxes) / len(boxes)
    print(f"{len(boxes)} chains with boxes; {right:.1%} right (IoU {TIGHT})")
    for category in sorted({category for category, *_ in boxes}):
        accepted = [good for box_category, _, good in boxes if box_category == category]
        print(f"  {category}: {sum(accepted) / len(accepted):.0%} of {len(accepted)}")
    for least in (0.2, 0.3, 0.5, 0.7):
        accepted = [good for _, chance, good in boxes if chance >= least]
        covered, right = len(accepted) / len(boxes), sum(accepted) / max(1, len(accepted))
        print(f"  chance {least} or more: {covered:.0%} of them, {right:.0%} right")


def from_nothing(
    scenes: Sequence[ScenePicture],
    model_settings: ModelAnnotatorSettings,
    settings: ImageSettings | None,
    title: str,
    seeds: range,
    *,
    device: str,
    processes: int,
) -> StudiedArm:
    """Run arm a for a number of seeds in parallel: in each the model annotator is trained separately."""
    if processes == 1:
        images = [gold for gold, _ in scenes]
        arm = arm_a(scenes, model_settings, lambda line: print(line, flush=True), device)
        return run_arm(title, images, arm, seeds=seeds, settings=settings)
    arguments = [(len(scenes), model_settings, settings, title, seed, device) for seed in seeds]
    with get_context("spawn").Pool(processes, maxtasksperchild=1) as pool:
        parts = pool.map(_one_seed, arguments, chunksize=1)
    for part in parts[1:]:
        parts[0].add(part)
    return parts[0]


def _one_seed(
    arguments: tuple[int, ModelAnnotatorSettings, ImageSettings | None, str, int, str],
) -> StudiedArm:
    images, model_settings, settings, title, seed, device = arguments
    load_kinds()
    scenes = [scene(n, ANNOTATED, ProposerSettings().side) for n in range(images)]
    seeds = range(seed, seed + 1)
    return from_nothing(scenes, model_settings, settings, title, seeds, device=device, processes=1)


def load_kinds() -> None:
    """Load the task types, and their simulated workers."""
    discovery.load_kind_modules("rules")
    discovery.load_kind_modules("simulate")


def _trained_before(
    scenes: int, side: int, epochs: int | None, save: Path | None, device: str
) -> BoxProposer:
    settings = ProposerSettings().lasting(epochs) if epochs else ProposerSettings()
    pictures = [training_picture(scene(n, TRAINED, side)) for n in range(scenes)]
    began = time.process_time()
    proposer = BoxProposer(settings).fit(pictures, device=device)
    print(f"trained on {scenes} scenes in {time.process_time() - began:.0f} s of CPU", flush=True)
    if save is not None:
        proposer.save(save, {"scenes": scenes, "seed": TRAINED})
    return proposer


def main() -> None:
    """Run the arms, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else "")
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seeds-a", type=int, help="Seeds of arm a, which learns in each (default: --seeds)")
    parser.add_argument("--trained", type=int, default=2000, help="Other scenes that arm b is trained on")
    parser.add_argument("--proposer", type=Path, help="A stored proposer for arm b, in place of training one")
    parser.add_argument("--epochs", type=int, help="Times that --trained learns from each scene")
    parser.add_argument("--save", type=Path, help="Store the proposer that --trained trains here")
    parser.add_argument("--least-chance", type=float, default=_SETTINGS.least_chance)
    parser.add_argument("--bar", type=float, default=_SETTINGS.bar)
    parser.add_argument(
        "--tries", type=int, default=_SETTINGS.tries, help="Boxes in a row that it proposes for a chain"
    )
    parser.add_argument("--arms", default="a,b,bad")
    parser.add_argument("--learn-from", type=int, default=600, help="Other scenes for the chances of links")
    parser.add_argument("--boxes", action="store_true", help="How good the boxes of --proposer are")
    parser.add_argument("--device", default=CPU, help="Where model annotators learn: cpu, or cuda")
    parser.add_argument("--processes", type=int, default=1, help="Seeds of arm a that run side by side")
    options = parser.parse_args()
    load_kinds()
    settings = replace(_SETTINGS, least_chance=options.least_chance, bar=options.bar, tries=options.tries)
    stored = BoxProposer.load(options.proposer) if options.proposer else None
    side = stored.settings.side if stored else ProposerSettings().side
    scenes = [scene(n, ANNOTATED, side) for n in range(options.images)]
    images = [gold for gold, _ in scenes]
    if options.boxes:
        if stored is None:
            parser.error("--boxes says how good the boxes of a stored proposer are; give --proposer FOLDER")
        report_boxes(proposed(stored, scenes), images)
        return
    seeds = range(options.seeds)
    people = run_arm(PEOPLE_ALONE, images, people_alone, seeds=seeds)
    arms: list[StudiedArm] = []
    names = options.arms.split(",")
    chances = LinkChances()
    if any("savings" in name for name in names):
        chances = learn_chances(scene(n, TRAINED, 1)[0][2] for n in range(options.learn_from))
    proposals: dict[str, Proposals] = {}
    if "b" in names or "b+savings" in names:
        trained_now = stored or _trained_before(
            options.trained, side, options.epochs, options.save, options.device
        )
        proposals = proposed(trained_now, scenes)
    for name in names:
        if name in ("b", "b+savings"):
            own_settings: ImageSettings | None = None
            title = "b: trained before"
            if name != "b":
                own_settings, title = saving_arms(chances)[ALL_SAVINGS], f"{title}, {ALL_SAVINGS}"
            arm = known_proposals(proposals, settings)
            arms.append(run_arm(title, images, arm, seeds=seeds, settings=own_settings))
        elif name == "savings":
            arms.extend(run_savings(images, chances, seeds))
        elif name == "bad":
            arms.append(run_arm("bad: random boxes", images, boxes_anywhere(images, settings), seeds=seeds))
        elif name in ("a", "a+savings"):
            title, own_settings = "a: from nothing", None
            if name != "a":
                own_settings, title = saving_arms(chances)[ALL_SAVINGS], f"{title}, {ALL_SAVINGS}"
            arms.append(
                from_nothing(
                    scenes,
                    settings,
                    own_settings,
                    title,
                    range(options.seeds_a or options.seeds),
                    device=options.device,
                    processes=options.processes,
                )
            )
    show(people, arms, options.images)


def show(people: StudiedArm, arms: Sequence[StudiedArm], images: int) -> None:
    """Print the table."""
    study = study_of(people, arms)
    report = {
        "images": images,
        "seeds": len(people.seeds),
        "interval_remark": "",
        "figures": [asdict(figure) for figure in study.figures],
        "savings": [asdict(saving) for saving in study.savings],
        "measured": None,
        "boxes": [asdict(boxes) for boxes in study.boxes],
    }
    print(study_table(report))


if __name__ == "__main__":
    main()
