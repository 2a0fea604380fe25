"""What saves people questions, and its effect: each saving alone, all of them, and with model annotators.

The same images go through the same crowd, each seed once in every arm; all others are compared with people
alone under the default settings. The figures are those of `model_study`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from annotation.protocol.coreference import AS_PRINTED, LEARNED
from annotation.protocol.gold import Gold
from annotation.protocol.link_chances import LinkChances
from annotation.protocol.model_annotators import ModelAnnotatorSettings, Proposals
from annotation.protocol.state import ImageSettings, SavingSettings
from annotation.simulation.model_study import (
    PEOPLE_ALONE,
    ArmOfSeed,
    ModelStudy,
    boxes_anywhere,
    known_proposals,
    people_alone,
    run_arm,
    study_of,
)

COVERAGE_BY_COUNT, ALL_SAVINGS = "coverage by count", "all savings"


def saving_arms(chances: LinkChances) -> dict[str, ImageSettings]:
    """Return the settings of the arms of people alone that differ from the default, by name."""
    learned = SavingSettings(link_chances=chances.as_text())
    return {
        "chains by age (as printed)": ImageSettings(order=AS_PRINTED),
        "chains by learned chance": ImageSettings(order=LEARNED, saving=learned),
        "fullest caption first": ImageSettings(saving=SavingSettings(fullest_caption_first=True)),
        COVERAGE_BY_COUNT: ImageSettings(saving=SavingSettings(coverage_by_count=True)),
        ALL_SAVINGS: ImageSettings(
            order=LEARNED, saving=replace(learned, fullest_caption_first=True, coverage_by_count=True)
        ),
    }


def arms_run(savings: bool, model_annotators: int) -> int:
    """Return the number of arms of `study_economy`."""
    return 2 + model_annotators + (len(saving_arms(LinkChances())) + model_annotators if savings else 0)


def study_economy(
    images: Sequence[Gold],
    *,
    chances: LinkChances | None,
    model_annotators: Mapping[str, Mapping[str, Proposals]],
    seeds: int,
    resamples: int = 1000,
    settings: ModelAnnotatorSettings | None = None,
    step: Callable[[], object] = lambda: None,
) -> ModelStudy:
    """Compare people alone; with `chances`, each saving and all of them; each of the `model_annotators` (name
    to its proposals by image), with `chances` also together with all savings; and a model annotator that
    draws random boxes.

    `step` is called after every image, len(images) x seeds x `arms_run` times.
    """
    settings = settings or ModelAnnotatorSettings(share=1.0)
    savings = saving_arms(chances) if chances is not None else {}
    arms: list[tuple[str, ArmOfSeed, ImageSettings | None]] = [(PEOPLE_ALONE, people_alone, None)]
    arms += [(name, people_alone, model_arm) for name, model_arm in savings.items()]
    for name, proposals in model_annotators.items():
        arms.append((name, known_proposals(proposals, settings), None))
        if savings:
            arm = known_proposals(proposals, settings)
            arms.append((f"{name}, {ALL_SAVINGS}", arm, savings[ALL_SAVINGS]))
    arms.append(("bad model annotator", boxes_anywhere(images, settings), None))
    people, *others = [
        run_arm(name, images, arm, seeds=range(seeds), settings=model_arm, step=step)
        for name, arm, model_arm in arms
    ]
    return study_of(people, others, resamples=resamples)
