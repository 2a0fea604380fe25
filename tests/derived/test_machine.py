"""Whatever people do, in any order: after each step every reader says what a plain recount says."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation import campaigns
from annotation.datasets import layers
from annotation.datasets.contents.figures import layer_statistics
from annotation.datasets.exporting import ExportError, export_dataset
from annotation.models import (
    Assignment,
    AuditEntry,
    Campaign,
    Control,
    Judgment,
    Layer,
    OpenImage,
    Ruling,
    TrustState,
)
from annotation.moderation import control_items, rulings, trust_replay, worker_status
from annotation.protocol import questions as q
from annotation.protocol.agreement import measure_agreement
from annotation.protocol.contents import mention_from
from annotation.protocol.rulings import Closure, KeepApart, Partition, Phrases, UnrelatedCaption
from annotation.protocol.rulings import Ruling as Ruled
from annotation.protocol.state import LINKING
from annotation.protocol.terms import ImageRecord
from annotation.quality import worker_trust
from annotation.queue.image_state import state_of
from annotation.selectors import browse
from annotation.selectors.campaign import cached, cost, crowd, glance, progress, sums
from annotation.selectors.layer_cost import cost_of
from annotation.simulation.driver import rulings_of
from annotation.workers import payments
from phrasebox.errors import PhraseboxError
from tests.derived.recount import Recount, pay_of
from tests.factories import some_images
from tests.queue.world import TRUSTING
from tests.rehearsal.play import Play, by_first_mention, check_database
from tests.rehearsal.script import Script
from tests.sizes import sized

pytestmark = pytest.mark.django_db

PEOPLE = 6
#: A run is 30 steps; the recount after each is slow.
STEPS, RUNS = 30, sized(1, 300)
SETTINGS = {
    "trust": {**TRUSTING["trust"], "double_check_share": 0.5},
    "pay": {"basis": "item", "per_item": dict.fromkeys(q.QUESTIONS, 0.02)},
    "link_votes": 3,
}
#: What may happen, as often as it stands here. Closing ends the asking, so it is rare.
ACTS = (
    *(["answer"] * 8 + ["work"] * 4),
    *("withdraw", "restore", "rule", "take_back", "suspend", "reinstate", "alter", "alter"),
    *("review", "pay", "promote", "from_own_layer", "export", "settle_all", "close"),
)


class Managed(Play):
    """A play with staff: who withdraw, rule, pay, make control items, export, and close."""

    def __init__(self, seed: int) -> None:
        super().__init__(some_images(2), Script(seed=seed), SETTINGS)
        self.met: Counter[str] = Counter()
        self.looked_at: tuple[object, ...] = ()

    def work(self, number: int, step: int) -> None:
        """Several answers of one worker at once, as long as there is work for them."""
        for i in range(6):
            if self.answer(number, step + i) is None:
                return

    def settle_all(self, number: int, step: int) -> None:
        """Everybody answers until two images are as far as they come."""
        for _ in range(12):
            provided = [self.answer(worker, step) for worker in range(PEOPLE)]
            if not any(provided):
                return

    def review(self, number: int, step: int) -> None:
        """A reviewer who knows the truth rules on what waits for them."""
        for row in OpenImage.objects.filter(campaign=self.campaign, in_review__gt=0):
            for ruling in rulings_of(state_of(row), self.world.truths[row.image_id]):
                rulings.make_ruling(image=row.pk, ruling=ruling)
                self.met["reviewed"] += 1

    def withdraw(self, number: int, step: int) -> None:
        done = worker_status.withdraw_worker_answers(campaign=self.campaign, worker=self.worker(number))
        self.withdrawn = True
        self.met["withdrawn"] += bool(done.judgments)
        self.met["retired by a withdrawal"] += bool(done.retired)

    def alter(self, number: int, step: int) -> None:
        self.met["changed"] += self.change(number, step)

    def restore(self, number: int, step: int) -> None:
        done = worker_status.restore_worker_answers(campaign=self.campaign, worker=self.worker(number))
        self.met["restored"] += bool(done.judgments)

    def suspend(self, number: int, step: int) -> None:
        self.met["suspended"] += bool(
            worker_status.suspend_worker(
                campaign=self.campaign, worker=self.worker(number), kind=q.QUESTIONS[step % 6]
            )
        )

    def reinstate(self, number: int, step: int) -> None:
        try:
            back = worker_status.reinstate_worker(campaign=self.campaign, worker=self.worker(number))
        except worker_status.CannotDo:
            return
        self.met["reinstated"] += bool(back)

    def rule(self, number: int, step: int) -> None:
        images = list(OpenImage.objects.filter(campaign=self.campaign).order_by("position"))
        row = images[step % len(images)]
        names = [mention_from(mention).id for mention in row.mentions]
        chains = [tuple(chain["m"]) for chain in row.state["chains"] if chain["s"] != LINKING]
        match step % 5:
            case 0 if chains:
                ruling: Ruled = Closure(chains[step % len(chains)], ("none", "scene", "excluded")[number % 3])
            case 1 if len(names) > 1:
                ruling = KeepApart(names[0], names[1 + number % (len(names) - 1)])
            case 2 if names:
                mention = mention_from(row.mentions[number % len(names)])
                changed = replace(mention, categories=("other",))
                ruling = Phrases((mention.id,)) if number % 2 else Phrases((), (changed,))
            case 3 if number % 4 == 0:
                ruling = UnrelatedCaption(1)
            case _:
                ruling = Partition(tuple((name,) for name in names))
        try:
            done = rulings.make_ruling(image=row.pk, ruling=ruling)
        except rulings.CannotRule:
            return
        self.met["ruled"] += 1
        self.met["mended"] += isinstance(ruling, Phrases | UnrelatedCaption)
        self.met["retired by a ruling"] += bool(done.retired)

    def take_back(self, number: int, step: int) -> None:
        provided = Ruling.objects.filter(image__campaign=self.campaign, withdrawn_at=None).order_by("pk")
        if ids := list(provided.values_list("pk", flat=True)):
            try:
                rulings.withdraw_ruling(campaign=self.campaign, ruling=ids[step % len(ids)])
            except rulings.CannotRule:  # a mend, of a closed campaign
                return
            self.met["taken back"] += 1

    def pay(self, number: int, step: int) -> None:
        paid = payments.pay_all_due(campaign=self.campaign, reference=f"payday-{next(self.tokens)}")
        self.met["paid"] += bool(paid)

    def promote(self, number: int, step: int) -> None:
        kind = [kind for kind in q.QUESTIONS if kind != q.BOX_DRAWING][step % 5]
        done = control_items.promote(campaign=self.campaign, kind=kind, at_least=2)
        self.met["promoted"] += bool(done.added)

    def from_own_layer(self, number: int, step: int) -> None:
        layer = layers.layer_to_read(self.world.corpus, "import")
        assert layer is not None
        if own_layer := Layer.objects.filter(corpus=self.world.corpus, name=self.campaign.name).first():
            layer = own_layer
        another, _ = Campaign.objects.get_or_create(
            name=f"{self.campaign.name}-other",
            defaults={"corpus": self.world.corpus, "tasks": "entities", "settings": self.campaign.settings},
        )
        try:
            done = control_items.from_gold(campaign=another, layer=layer, purposes=[Control.CONTROL])
        except PhraseboxError:
            return
        self.met["made of the layer"] += bool(done.added) and layer.name == self.campaign.name

    def close(self, number: int, step: int) -> None:
        if step % 4 == 0:
            campaigns.close_campaign(campaign=self.campaign)
            self.met["closed"] += 1

    def export(self, number: int, step: int) -> None:
        """What goes out is what the recount has, finished or not."""
        counted = Recount(self.campaign)
        how = ("", "only finished", "with unfinished")[step % 3]
        if not counted.layer():
            return
        with tempfile.TemporaryDirectory() as folder:
            try:
                written = export_dataset(
                    corpus=self.world.corpus.name,
                    layer=self.campaign.name,
                    format="jsonl",
                    out=Path(folder) / "out",
                    only_finished=how == "only finished",
                    include_unfinished=how == "with unfinished",
                )
            except ExportError:
                every = {i.row.image.key for i in counted.images}
                assert not counted.finished() if how else counted.finished() < every
                self.met["export refused"] += 1
                return
            (file,) = [file for file in written.files if file.suffix == ".jsonl"]
            lines = [json.loads(line) for line in file.read_text().splitlines()]
            gone = {line["id"]: line for line in lines if "id" in line}
        self.met["exported"] += 1
        if how == "only finished":
            assert set(gone) == counted.finished()
        assert len(gone) == written.counts["images"]

    # What every reader says --------------------------------------------------------------------------

    def check(self) -> None:
        """Compare every reader with a recount, unless nothing was written since the last one."""
        rows = self._rows()
        if rows == self.looked_at:
            return
        self.looked_at = rows
        now = Recount(self.campaign)
        campaign = now.campaign
        seen = glance.overview(campaign, pay_of(campaign), at=self.at)
        assert asdict(seen.funnel) == now.funnel()
        assert {kind: asdict(of) for kind, of in seen.tasks.items()} == now.open_tasks()
        assert (seen.throughput.to_come, seen.pay_to_come) == (now.to_come(), now.pay_to_come())
        assert progress.complete_images(campaign) == now.funnel()["complete"]
        earned = {(e.worker, e.kind, e.role): (e.answers, e.pay) for e in sums.earned(campaign)}
        assert earned == now.earned()
        assert cost.paid(campaign) == now.paid()
        assert seen.agreement.keys() == now.agreement().keys()
        for kind, (drawn, pairs) in now.agreement().items():
            of, equal = seen.agreement[kind], measure_agreement(pairs, drawn=drawn, draws=2).equal
            assert (of.drawn, of.pairs) == (drawn, len(pairs))
            assert (of.equal and of.equal.value) == (equal and pytest.approx(equal.value))
        for row in crowd.workers(campaign):
            mine = [(n, pay) for (worker, _, _), (n, pay) in now.earned().items() if worker == row.id]
            assert (row.answers, row.earned) == (sum(n for n, _ in mine), sum(pay for _, pay in mine))
            assert row.paid == now.paid().get(row.id, 0)
        assert now.wrong_items() == []
        self._check_layer(now)

    def _rows(self) -> tuple[object, ...]:
        """What is stored, as far as a step can change it."""
        mine = {"campaign": self.campaign}
        return (
            list(Judgment.objects.filter(**mine).order_by("pk").values_list("pk", "withdrawn", "answer")),
            list(Assignment.objects.filter(**mine).order_by("pk").values_list("pk", "state", "pay")),
            list(OpenImage.objects.filter(**mine).order_by("pk").values_list("pk", "version")),
            list(Control.objects.filter(**mine).order_by("pk").values_list("pk", "active")),
            list(Campaign.objects.filter(pk=self.campaign.pk).values_list("state", "revision")),
            list(AuditEntry.objects.filter(**mine).order_by("-pk").values_list("pk")[:1]),
        )

    def _check_layer(self, now: Recount) -> None:
        expected = now.layer()
        if not expected:
            return
        corpus = self.world.corpus
        layer = layers.layer_to_read(corpus, self.campaign.name)
        assert layer is not None and layers.count_images_behind(self.campaign) == 0
        records: list[ImageRecord] = []
        statistics = layer_statistics(corpus=corpus, layer=layer, progress=partial(_recorded, records))
        stored = {r.id: by_first_mention(r.layer) for r in records if r.layer is not None}
        assert stored == now.counted_layer()
        layer_figure = browse.layer_figures([layer])[layer.pk]
        assert (layer_figure.images, layer_figure.chains, layer_figure.mentions, layer_figure.boxes) == (
            len(expected),
            sum(len(share.chains) for share in expected.values()),
            sum(len(share.mentions) for share in expected.values()),
            sum(thing.box is not None for share in expected.values() for thing in share.objects),
        )
        assert statistics.figures()["images"] == len(expected)
        cost = cost_of(layer, layers.campaign_of_layer(layer))
        assert {name: cost[name] for name in now.cost()} == now.cost()
        assert (cost["images"], cost["unfinished"]) == (len(expected), len(now.images) - len(now.finished()))


def _recorded(records: list[ImageRecord], passing: Iterable[ImageRecord]) -> Iterator[ImageRecord]:
    """The records that pass, each put into `records` too."""
    for record in passing:
        records.append(record)
        yield record


steps = st.lists(
    st.tuples(st.sampled_from(ACTS), st.integers(0, PEOPLE - 1), st.integers(0, 40)),
    min_size=STEPS,
    max_size=STEPS,
)


def managed(seed: int, acts: list[tuple[str, int, int]]) -> Managed:
    play = Managed(seed)
    with play.time():
        for what, number, step in acts:
            act: Callable[[int, int], object] = getattr(play, what)
            act(number, step)
            play.check()
        check_database()
    for trust_state in TrustState.objects.filter(campaign=play.campaign):
        assert trust_replay.replay_row(trust_state) == worker_trust.trust_from_row(trust_state)
    return play


@pytest.fixture(autouse=True)
def forecast_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """One finished image is enough to tell what is to come; nothing is kept, however slow the machine is."""
    monkeypatch.setattr(progress, "TELLING", 1)
    monkeypatch.setattr(cached, "SLOW", float("inf"))


@given(seed=st.integers(0, 10_000), acts=steps)
@settings(max_examples=RUNS, suppress_health_check=[*HealthCheck])
def test_every_reader_says_what_a_recount_says(seed: int, acts: list[tuple[str, int, int]]) -> None:
    managed(seed, acts)


def test_a_run_meets_all_that_can_happen() -> None:
    """The property above would say little if nothing were ever withdrawn, ruled or finished."""
    script = "settle_all export settle_all review settle_all review export promote promote promote"
    script += " from_own_layer pay rule withdraw restore take_back rule rule suspend reinstate settle_all"
    script += " answer alter answer alter answer alter export withdraw close export"
    about_one, turns = {"withdraw", "restore", "suspend", "reinstate"}, Counter[str]()
    acts = []
    for number, what in enumerate(script.split()):
        acts.append((what, 0 if what in about_one else number % PEOPLE, turns[what]))
        turns[what] += 1
    play = managed(5, acts)
    expected = {
        "withdrawn",
        "restored",
        "ruled",
        "mended",
        "taken back",
        "suspended",
        "reinstated",
        "paid",
        "promoted",
    }
    expected |= {"made of the layer", "exported", "export refused", "closed", "retired by a withdrawal"}
    expected |= {"changed"}
    assert expected - {what for what, times in play.met.items() if times} == set(), play.met
