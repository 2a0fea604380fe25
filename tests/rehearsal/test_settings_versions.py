"""Settings change, answers arrive and judgments are withdrawn in any order: each image is folded with the
settings version that it was opened with, each answer paid and counted with that of its lease."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from django.db.models import F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.campaigns import change_campaign_settings
from annotation.models import Assignment, Item, Judgment, OpenImage, Task, TrustState
from annotation.moderation import trust_replay, worker_status
from annotation.protocol.campaign_settings import CampaignSettings, settings_of
from annotation.protocol.contents import mention_from
from annotation.quality import worker_trust
from annotation.queue import image_rows, image_state
from tests.protocol.strategies import CHANCES
from tests.queue.world import TRUSTING
from tests.rehearsal.play import Play, by_first_mention, check_database
from tests.rehearsal.script import Script, pictured
from tests.sizes import sized

pytestmark = pytest.mark.django_db

PEOPLE = 4
ACTS = (*["answer"] * 4, "take", "change_settings", "withdraw", "open", "wait", "sweep")
#: One setting each (with others that it requires): of images and of leases.
CHANGES: tuple[dict[str, Any], ...] = (
    {"link_votes": 3},
    {"link_votes": 1},
    {"verification_votes": 3},
    {"order": "learned", "saving": {"link_chances": CHANCES.as_text(), "coverage_by_count": True}},
    {"limits": {"fruitless": 1}},
    {"merging": {"iou": 0.5}},
    {"flags_to_review": 1},
    {"pay": {"basis": "item", "per_item": {"coref_link": 0.25, "box_drawing": 0.5}}},
    {"pay": {"basis": "hour", "hourly": 36.0}},
    {"lease": {"minutes": 5.0}},
    {"trust": {**TRUSTING["trust"], "double_check_share": 0.0}},
)

#: Number of plays; the slow run has time for more.
EXAMPLES = sized(4, 64)

steps = st.lists(
    st.tuples(st.sampled_from(ACTS), st.integers(0, PEOPLE - 1), st.integers(0, 40)), max_size=60
)


class Changing(Play):
    """A play whose last image is opened late and whose settings change; it records the expected results."""

    def __init__(self, seed: int) -> None:
        records = [pictured(seed % 50 + i) for i in range(3)]
        super().__init__(
            records, Script(seed=seed), {"trust": {**TRUSTING["trust"], "double_check_share": 0.5}}
        )
        late = OpenImage.objects.filter(campaign=self.campaign).order_by("position").last()
        assert late is not None
        self.late = late.image, [mention_from(mention) for mention in late.mentions]
        Item.objects.filter(task__image=late).delete()
        Task.objects.filter(image=late).delete()
        late.delete()
        self.versions: dict[int, CampaignSettings] = {1: settings_of(self.campaign.settings)}
        self.opened_under = dict.fromkeys(self._images(), 1)
        self.leased_under: dict[int, tuple[Any, int]] = {}

    def _images(self) -> list[int]:
        return list(OpenImage.objects.filter(campaign=self.campaign).values_list("image", flat=True))

    @property
    def version(self) -> int:
        return max(self.versions)

    def change_settings(self, number: int, step: int) -> None:
        untouched = not Assignment.objects.filter(campaign=self.campaign).exists()
        plain_value = {**self.campaign.settings, **CHANGES[step % len(CHANGES)]}
        done = change_campaign_settings(campaign=self.campaign, settings=plain_value, seen=self.version)
        if not done.differences:
            assert done.version == self.version
            return
        assert done.version == self.version + 1
        self.versions[done.version] = settings_of(plain_value)
        of_images = any(difference.when in ("all_images", "new_images") for difference in done.differences)
        if untouched and of_images:
            self.opened_under = dict.fromkeys(self.opened_under, done.version)

    def open(self, number: int, step: int) -> None:
        image, mentions = self.late
        if image.pk not in self.opened_under:
            protocol = settings_of(self.campaign.settings).protocol
            image_rows.open_images(campaign=self.campaign, images=[(image, mentions)], settings=protocol)
            self.opened_under[image.pk] = self.version

    def withdraw(self, number: int, step: int) -> None:
        if number in self.people:
            self.withdrawn = True
            worker_status.withdraw_worker_answers(
                campaign=self.campaign, worker=self.people[number], reason="tried"
            )

    def check(self) -> None:
        """Check all results against the settings versions in force at their time."""
        for row in Assignment.objects.filter(campaign=self.campaign):
            if self.leased_under.get(row.pk, (None, 0))[0] != row.leased_at:
                self.leased_under[row.pk] = row.leased_at, self.version
            assert row.settings_version == self.leased_under[row.pk][1]
            if row.state == Assignment.SUBMITTED:
                pay = self.versions[row.settings_version].pay
                assert row.pay == pay.amount(row.kind, row.seconds)
        for image in OpenImage.objects.filter(campaign=self.campaign):
            expected = self.versions[self.opened_under[image.image_id]]
            assert image.settings_version == self.opened_under[image.image_id]
            assert settings_of(image.settings).protocol == expected.protocol


def played(seed: int, acts: list[tuple[str, int, int]]) -> Changing:
    """Run a play through `acts`, with checks after each."""
    play = Changing(seed)
    with play.time():
        for what, number, step in acts:
            getattr(play, what)(number, step)
            play.check()
        check_database()
        play.open(0, 0)
        # `check_fold` folds the judgments purely, with the settings that `check` has just compared.
        states = play.check_fold()
        # The layer also contains the images without answers.
        opened = OpenImage.objects.filter(campaign=play.campaign)
        opened.update(layer_behind=True, version=F("version") + 1)
        assert play.layer() == [by_first_mention(state.layer) for state in states]
    for row in TrustState.objects.filter(campaign=play.campaign):
        assert trust_replay.replay_row(row) == worker_trust.trust_from_row(row)
    return play


def test_settings_that_change_twice_at_one_instant_are_both_folded_under() -> None:
    """The clock of a play stands still between its acts; what was folded before the change is not kept."""
    play = Changing(3)
    with play.time():
        (image, *_others) = OpenImage.objects.filter(campaign=play.campaign).order_by("position")
        for step, expected in ((0, 2), (1, 1), (0, 2)):  # two equal votes of three are enough
            play.change_settings(0, step)
            requested = {question.needed for question in image_state.refold_image(image.pk).questions}
            assert requested == {expected}, CHANGES[step]


@given(seed=st.integers(0, 10_000), acts=steps)
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
def test_images_and_leases_go_by_the_versions_that_they_carry(
    seed: int, acts: list[tuple[str, int, int]]
) -> None:
    played(seed, acts)


@pytest.mark.slow  # tests the plays, not the product
@pytest.mark.only_on("sqlite")  # the drawn plays do not depend on the database
def test_plays_meet_all_that_versions_can_do() -> None:
    """What the property above says of any play would say nothing if versions never mixed."""
    met: Counter[str] = Counter()
    for seed in range(4):
        chance = Random(seed)
        acts = [(chance.choice(ACTS), chance.randrange(PEOPLE), chance.randrange(40)) for _ in range(60)]
        play = played(seed, [("change_settings", 0, seed), *acts] if seed % 2 else acts)
        leases = Assignment.objects.filter(campaign=play.campaign)
        versions = set(leases.values_list("settings_version", flat=True))
        met["leases of several versions"] += len(versions) > 1
        met["images of several versions"] += len(set(play.opened_under.values())) > 1
        met["reopened"] += min(play.opened_under.values()) > 1
        met["paid"] += leases.filter(pay__gt=0).exists()
        met["withdrawn"] += Judgment.objects.filter(campaign=play.campaign, withdrawn=True).exists()
        met["late"] += leases.filter(state=Assignment.SUBMITTED, ended_at__gt=F("expires_at")).exists()
        met["double checks"] += leases.filter(role="double_check").exists()
    assert [what for what, times in met.items() if not times] == []
