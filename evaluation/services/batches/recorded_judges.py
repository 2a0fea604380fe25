"""A batch judged by people who answered before: a rehearsal with the votes that a set of judgments holds.

So one sees, before anybody is paid, what a batch would have come to, and whether what comes out of it is
what the judgments alone say.
"""

from __future__ import annotations

from collections.abc import Mapping

from annotation.selectors.corpora import corpus_named
from annotation.simulation.judging import CrowdKnowledge
from annotation.simulation.visits import ORDERLY
from annotation.simulation.workers import PERFECT
from annotation.simulation_driver import CROWD_PATIENCE, QUEUE, CrowdPlan, CrowdReport, run_campaign_crowd
from evaluation.models import Batch, JudgmentSet
from evaluation.relevance.pair_tasks import pair_tasks
from evaluation.selectors import judgment_set
from evaluation.services.batches.collecting import batch_named
from evaluation.services.batches.stored_answers import BatchRefused, answers_of_set


def judge_as_recorded(
    name: str,
    judgments: str,
    *,
    mix: Mapping[str, int] | None = None,
    seed: int = 1,
    through: str = QUEUE,
    url: str = "",
    patience: float = CROWD_PATIENCE,
) -> CrowdReport:
    """Have the open batch `name` answered from the set `judgments` until nothing is left for its judges.

    Without a `mix` as many judges come as a pair wants, and the first gives each pair's first recorded
    answer, the second its second, and so on (see `judging.CrowdKnowledge`). With one, its people answer what
    most said, with their errors. What nobody judged is taken for unrelated, except an image's own captions.
    Raises BatchRefused, UnknownName, CampaignError and Busy.
    """
    batch = batch_named(name)
    found = judgment_set(batch.corpus.name, judgments)
    return run_campaign_crowd(
        campaign=batch.campaign,
        plan=CrowdPlan(
            mix=mix or {PERFECT.name: batch.judges},
            seed=seed,
            through=through,
            url=url,
            conduct=ORDERLY,
            patience=patience,
        ),
        known=recorded_in(found, batch, in_place_of=0 if mix else batch.judges),
    )


def recorded_in(judgments: JudgmentSet, batch: Batch, *, in_place_of: int = 0) -> CrowdKnowledge:
    """What the set says, by an image's key and a caption's text; raises BatchRefused for another scale,
    and where an image has two captions of one text that were answered unlike."""
    corpus, scale = corpus_named(batch.corpus.name), pair_tasks(batch.campaign.tasks).values
    key = dict(corpus.images.values_list("pk", "key"))
    text: dict[int, str] = {}
    images_of: dict[str, set[str]] = {}
    rows = corpus.images.filter(captions__isnull=False)
    for image, caption, words in rows.values_list("pk", "captions__pk", "captions__text").iterator(5_000):
        text[caption] = words
        images_of.setdefault(words, set()).add(key[image])
    recorded: dict[tuple[str, str], list[float]] = {}
    for image_id, caption_id, grades, _ in answers_of_set(judgments, scale):
        pair = (key[image_id], text[caption_id])
        if sorted(recorded.setdefault(pair, grades)) != sorted(grades):
            raise BatchRefused(
                f"judgments {judgments.name!r} contain {recorded[pair]} and {grades} about image "
                f"{pair[0]!r} and two captions of the same words, {pair[1]!r}; judges see only the words: "
                "leave one out"
            )
    return CrowdKnowledge(images_of, recorded=recorded, in_place_of=in_place_of)
