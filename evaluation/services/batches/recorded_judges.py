"""A rehearsal of a batch: simulated judges answer with the votes of a stored set of judgments.

It shows, before anybody is paid, what a batch would result in, and whether the result equals what the
judgments alone give.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.campaigns import campaign_crowd_size
from annotation.common.operations import Help, Named, OperationContext
from annotation.selectors.corpora import corpus_named
from annotation.simulation.judging import CrowdKnowledge
from annotation.simulation.visits import ORDERLY
from annotation.simulation.workers import PERFECT
from annotation.simulation_driver import (
    CROWD_PATIENCE,
    HTTP,
    QUEUE,
    CrowdPlan,
    CrowdReport,
    mix_of,
    run_campaign_crowd,
)
from evaluation.models import Batch, JudgmentSet
from evaluation.pair_tasks import pair_tasks
from evaluation.selectors import judgment_set
from evaluation.services.batches.collecting import batch_named
from evaluation.services.batches.stored_answers import BatchError, answers_of_set
from evaluation.services.stored_kinds import BATCHES, JUDGMENT_SETS


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateJudgesRequest:
    """Simulate the judges of an open batch with the votes of existing judgments: each judge gives one
    recorded answer of every pair; a pair without one is answered as unrelated. With a mix, this number of
    simulated people gives the majority's answers, with their errors, to show the effect of bad judges."""

    batch: Annotated[str, Named(BATCHES), Help(_("Batch"))]
    recorded: Annotated[str, Named(JUDGMENT_SETS), Help(_("Judgments"), _("Of the batch’s corpus"))]
    workers: Annotated[int, Field(ge=1, le=100_000), Help(_("Number of judges, with a mix"))] = 12
    mix: Annotated[
        dict[str, Annotated[float, Field(gt=0)]],
        Help(_("Kinds of judges, and their shares"), _("As careful=0.8 random=0.2")),
    ] = field(default_factory=dict)
    seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed"))] = 1
    url: Annotated[
        str, Field(max_length=200), Help(_("Over HTTP"), _("Against a running server of this database"))
    ] = ""
    patience: Annotated[float, Field(ge=0), Help(_("Seconds to wait for leases to run out"))] = CROWD_PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedJudges:
    """What simulated judges did to a batch. `crowd`: the number of judges of each kind, empty where they
    answered as recorded; `open_tasks`, and `leased` of them, remain; `violations` counts events that must
    never happen."""

    batch: str
    recorded: str
    crowd: dict[str, int]
    seed: int
    answers: int
    suspended: tuple[str, ...]
    open_tasks: int
    leased: int
    violations: dict[str, int]
    amiss: tuple[str, ...]
    seconds: float


def simulate_judges(request: SimulateJudgesRequest, context: OperationContext) -> SimulatedJudges:
    """Let simulated judges answer the batch; raises as `judge_as_recorded` does."""
    mix: dict[str, int] = {}
    if request.mix:
        least = campaign_crowd_size(batch_named(request.batch).campaign).least
        mix = mix_of(request.workers, request.mix, least=least)
    done = judge_as_recorded(
        request.batch,
        request.recorded,
        mix=mix,
        seed=request.seed,
        through=HTTP if request.url else QUEUE,
        url=request.url,
        patience=request.patience,
    )
    return SimulatedJudges(
        batch=request.batch,
        recorded=request.recorded,
        crowd=mix,
        seed=request.seed,
        answers=done.tally.answered.total(),
        suspended=tuple(sorted({name for names in done.suspended.values() for name in names})),
        open_tasks=done.open_tasks,
        leased=done.leased,
        violations=dict(done.violations),
        amiss=tuple(map(str, done.tally.amiss)),
        seconds=done.seconds,
    )


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
    """Answer the open batch `name` from the set `judgments` until nothing is left for its judges.

    Without a `mix` there are as many judges as a pair needs: the first gives each pair's first recorded
    answer, the second its second, and so on (see `judging.CrowdKnowledge`). With a mix, its people answer as
    most recorded judges did, with their errors. Pairs that nobody judged are answered as unrelated, except an
    image's own captions. Raises BatchError, UnknownName, CampaignError and Busy.
    """
    batch = batch_named(name)
    stored_set = judgment_set(batch.corpus.name, judgments)
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
        known=recorded_in(stored_set, batch, in_place_of=0 if mix else batch.judges),
    )


def recorded_in(judgments: JudgmentSet, batch: Batch, *, in_place_of: int = 0) -> CrowdKnowledge:
    """Return the set's answers by an image's key and a caption's text; raises BatchError for another scale,
    and if an image has two captions of the same text with different answers."""
    corpus, scale = corpus_named(batch.corpus.name), pair_tasks(batch.campaign.tasks).values
    key = dict(corpus.images.values_list("pk", "key"))
    text: dict[int, str] = {}
    images_of: dict[str, set[str]] = {}
    rows = corpus.images.filter(captions__isnull=False)
    for image, caption, words in rows.values_list("pk", "captions__pk", "captions__text").iterator(5_000):
        text[caption] = words
        images_of.setdefault(words, set()).add(key[image])
    recorded: dict[tuple[str, str], list[float]] = {}
    for image_id, caption_id, grades, _times in answers_of_set(judgments, scale):
        pair = (key[image_id], text[caption_id])
        if sorted(recorded.setdefault(pair, grades)) != sorted(grades):
            raise BatchError(
                f"judgments {judgments.name!r} contain {recorded[pair]} and {grades} about image "
                f"{pair[0]!r} and two captions of the same words, {pair[1]!r}; judges see only the words: "
                "leave one out"
            )
    return CrowdKnowledge(images_of, recorded=recorded, in_place_of=in_place_of)
