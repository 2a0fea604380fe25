"""A rehearsal through the queue: leases, answers and refusals as for real workers.

In this process, in several, or over HTTP against a server of the same database. At the end a reviewer who
knows the gold rules on stuck images, and the campaign's layer is updated.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import Exists, OuterRef

from annotation import instructions
from annotation.campaigns import gold_layer
from annotation.campaigns.opening import open_next_portion
from annotation.campaigns.states import mark_simulated
from annotation.common import database
from annotation.common.locks import locked_folder
from annotation.datasets import layers
from annotation.models import Assignment, Campaign, Layer, OpenImage, Task, TrustState
from annotation.moderation import rulings
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.questions import QUESTIONS
from annotation.protocol.scores import LayerScores, compare_layers
from annotation.protocol.trust import SUSPENDED
from annotation.queue import image_state, leases, model_answers, submission
from annotation.selectors.layer_cost import answers_cost
from annotation.selectors.records import stream_records
from annotation.simulation.driver import rulings_of
from annotation.simulation.judging import CrowdKnowledge
from annotation.simulation.visits import USUAL_CONDUCT, Conduct, SimulatedVisit, TaskClient, VisitTally
from annotation.simulation.workers import make_crowd
from annotation.simulation_driver.crowd_executor import THREADS, VisitScheduling, run_crowd
from annotation.simulation_driver.http_pages import Connection, HttpTaskClient, Session
from annotation.simulation_driver.people import SimulatedPerson, check_mix, enrol, withdraw_passwords
from annotation.simulation_driver.soundness import violations
from annotation.simulation_driver.task_pages import QueueTaskClient, begin_test, counted
from annotation.simulation_driver.truths import Truths, crowd_knowledge
from annotation.task_types import discovery

QUEUE, HTTP = "queue", "http"
#: Seconds that a crowd waits for a lease to expire before it ends.
CROWD_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class CrowdReport:
    """The result of a simulated crowd on a campaign's queue.

    `scores` compares the layer with gold, over the opened images that gold covers; None without gold.
    `suspended`: pseudonyms by kind. `open_tasks` and `leased` are the remaining numbers; `violations` counts
    rows that violate an invariant, by invariant.
    """

    layer: Layer | None
    cost: Mapping[str, Any]
    scores: LayerScores | None
    suspended: Mapping[str, Sequence[str]]
    tally: VisitTally
    open_tasks: int
    leased: int
    violations: Mapping[str, int]
    seconds: float


@dataclass(frozen=True, slots=True)
class CrowdPlan:
    """The crowd of a campaign, and how it works.

    `mix`: the number of each kind of worker (`simulation.workers.PRESETS`). `through` QUEUE or HTTP, then at
    `url`, by `processes`. Leases that expire within `patience` seconds are waited for, by `sleep`. `train`
    trains model annotators that are due, like the periodic work; it is called before each of their turns, and
    before more images are opened if the campaign opens some at a time, in the process of the caller or of a
    part of the crowd.
    """

    mix: Mapping[str, int]
    seed: int
    through: str = QUEUE
    url: str = ""
    processes: int = 1
    conduct: Conduct = USUAL_CONDUCT
    patience: float = CROWD_PATIENCE
    sleep: Callable[[float], object] = time.sleep
    train: Callable[[], object] = lambda: None


def run_campaign_crowd(
    *,
    campaign: Campaign,
    plan: CrowdPlan,
    gold: str | None = None,
    review: bool = True,
    known: CrowdKnowledge | None = None,
) -> CrowdReport:
    """Send a simulated crowd to an open campaign until nothing is left for it.

    Answers come from the layer `gold` (default: "gold" or "import", if there is one), else from a stand-in
    over the campaign's mentions; those of judges of pairs from `known`, or from the images of the captions.
    Answers follow from the seed, leases from the seed and the existing rows. With `review` a reviewer who
    knows the gold rules on stuck images.

    The campaign is marked as simulated, for good. Running it again continues where it ended. Raises
    CampaignError, and Busy while another process simulates a crowd of this seed.
    """
    discovery.load_kind_modules("simulate")
    check_mix(plan.mix)
    if campaign.state != Campaign.OPEN:
        raise CampaignError(
            f"campaign {campaign.name!r} is {campaign.state} and hands out nothing; open or resume it first"
        )
    if (plan.through == HTTP) != bool(plan.url):
        raise CampaignError(
            "expected the address of a server for a crowd that works through HTTP, and for no other"
        )
    if plan.url:
        Connection(plan.url)  # An invalid address is reported before anything begins.
    source = gold_layer(campaign.corpus, gold)
    mark_simulated(campaign=campaign)
    started = time.perf_counter()
    truths = Truths(campaign, source, seed=plan.seed)
    if known is None and campaign.kinds != QUESTIONS:
        known = crowd_knowledge(campaign, source)
    workers = make_crowd(plan.mix, seed=plan.seed)

    def model_annotators() -> int:
        plan.train()
        return open_next_portion(campaign) + model_answers.answer_waiting_images(campaign, submission.submit)

    busy = (
        f"a crowd of seed {plan.seed} is simulated by another process; choose another seed, or wait for "
        "its end"
    )
    with locked_folder(f"rehearsal.{plan.seed}", busy=busy):
        people = enrol(workers, campaign=campaign, accounts=plan.through == HTTP)
        try:
            for person in people:
                _agree(person, campaign)
            tally = run_crowd(
                people,
                partial(_visits, campaign, truths, known, plan),
                VisitScheduling(
                    plan.seed,
                    _clock,
                    plan.patience,
                    sweep=leases.end_expired_leases if plan.through == QUEUE else _nothing,
                    sleep=plan.sleep,
                    model_annotators=model_annotators,
                ),
                processes=plan.processes,
                threads=THREADS if plan.through == HTTP else 1,
                quiet=lambda: model_annotators() > 0 or (review and _rule(campaign, truths)),
            )
        finally:
            withdraw_passwords(people)
    layers.update_layer(campaign)
    layer = campaign.corpus.layers.filter(name=campaign.name, published=True).first()
    out = Assignment.objects.filter(campaign=campaign, state=Assignment.LEASED)
    return CrowdReport(
        layer,
        answers_cost(campaign),
        _scores(campaign, layer, source) if layer and source else None,
        _suspended(campaign),
        tally,
        Task.objects.filter(campaign=campaign, state=Task.OPEN).count(),
        out.count(),
        violations(campaign),
        time.perf_counter() - started,
    )


def _clock() -> float:
    return database.now().timestamp()


def _agree(person: SimulatedPerson, campaign: Campaign) -> None:
    """Give the worker's consent to the campaign's text, if there is one."""
    if instructions.needs_consent(worker=person.row, campaign=campaign):
        text = instructions.current_text(campaign=campaign, kind=instructions.CONSENT)
        instructions.record_consent(worker=person.row, campaign=campaign, version=text.version)


def _visits(
    campaign: Campaign,
    truths: Truths,
    known: CrowdKnowledge | None,
    plan: CrowdPlan,
    people: Sequence[SimulatedPerson],
) -> list[SimulatedVisit]:
    """Return the visits of some people, with clients in this process or, with a URL, over one connection."""
    line = Connection(plan.url) if plan.url else None
    visits = []
    for person in people:
        desk: TaskClient = QueueTaskClient(campaign, person.row, truths)
        if line is not None:
            session = Session(line, person.username, person.password)
            desk = HttpTaskClient(
                session,
                campaign.name,
                test=partial(begin_test, campaign, person.row),
                key_of=truths.key_named,
                counted=counted,
            )
        visits.append(
            SimulatedVisit(
                person.worker,
                desk,
                truths.of,
                conduct=plan.conduct,
                kinds=campaign.kinds,
                clock=_clock,
                patience=plan.patience,
                known=known,
            )
        )
    return visits


def _nothing() -> bool:
    return False


def _rule(campaign: Campaign, truths: Truths) -> bool:
    """Make a reviewer's rulings from gold on every stuck image without leases; return whether there were any.

    A ruling may change the chains of the image. A later one that no longer fits waits for the next call.
    """
    if campaign.kinds != QUESTIONS:
        return False  # There is nothing to rule on.
    held = Assignment.objects.filter(task__image=OuterRef("pk"), state=Assignment.LEASED)
    stuck = OpenImage.objects.filter(campaign=campaign, complete=False).exclude(Exists(held))
    ruled = False
    for image in stuck.select_related("image").order_by("position").iterator():
        rulings_needed = rulings_of(image_state.state_of(image), truths.of(image.image.key))
        for number, ruling in enumerate(rulings_needed):
            try:
                rulings.make_ruling(image=image.pk, ruling=ruling, comment="simulated")
            except rulings.CannotRule:
                if not number:
                    raise
                break
            ruled = True
    return ruled


def _scores(campaign: Campaign, layer: Layer, source: Layer) -> LayerScores:
    scores = LayerScores()
    opened = OpenImage.objects.filter(campaign=campaign).values("image")
    images = campaign.corpus.images.filter(pk__in=opened)
    golds = stream_records(corpus=campaign.corpus, layer=source, images=images)
    founds = stream_records(corpus=campaign.corpus, layer=layer, images=images)
    for gold, simulated in zip(golds, founds, strict=True):
        if gold.layer is not None and simulated.layer is not None:
            scores.add(compare_layers(simulated.layer, gold.layer))
    return scores


def _suspended(campaign: Campaign) -> dict[str, list[str]]:
    """Return suspended workers' pseudonyms by kind of question."""
    suspended: dict[str, list[str]] = {}
    rows = TrustState.objects.filter(campaign=campaign, state=SUSPENDED).order_by("worker__pseudonym")
    for kind, pseudonym in rows.values_list("kind", "worker__pseudonym"):
        suspended.setdefault(kind, []).append(pseudonym)
    return suspended
