"""Images selected by their tags for a campaign: equal shares of strata, reproducible, and no unknown tag."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation import campaigns, jobs
from annotation.campaigns import CampaignError
from annotation.datasets.tags import save_tags
from annotation.models import Campaign, Corpus, Image, Job
from annotation.selectors.tags.queries import BadTagQuery
from annotation.selectors.tags.samples import Stratum, TagSample, draw_by_tags
from phrasebox.registry import UnknownName
from tests.factories import a_corpus, an_image
from tests.queue.world import TRUSTING
from tests.web import world
from tests.web.staff import press

pytestmark = pytest.mark.django_db

#: Of 60 images: dogs, boats, dogs with frisbees; the last ten have no tag.
DOGS, BOATS, FRISBEES = range(30), range(20, 50), range(6)


@pytest.fixture
def quay() -> Corpus:
    a_corpus("quay", [an_image(f"i{n}", "A dog .", layered=False, split="ab"[n % 2]) for n in range(60)])
    corpus = Corpus.objects.get(name="quay")
    tags: dict[str, list[tuple[str, float]]] = {}
    for number in range(60):
        things = (("dog", DOGS), ("boat", BOATS), ("frisbee", FRISBEES))
        tags[f"i{number}"] = [(tag, 0.5) for tag, image_numbers in things if number in image_numbers]
    save_tags(corpus=corpus, images=tags.items(), unit="nouns", alpha=0.75)
    return corpus


def numbers(sample: TagSample) -> list[int]:
    keys = dict(Image.objects.filter(pk__in=sample.images).values_list("pk", "key"))
    return [int(keys[pk][1:]) for pk in sample.images]


def test_strata_have_equal_shares_as_long_as_they_last(quay: Corpus) -> None:
    sample = draw_by_tags(quay, ["dog", "boat"], number=18, seed=1)
    assert sample.strata == (Stratum("dog", 30, 9), Stratum("boat", 30, 9))
    assert len(set(numbers(sample))) == 18
    more = draw_by_tags(quay, ["frisbee", "boat"], number=20, seed=1)
    assert more.strata == (Stratum("frisbee", 6, 6), Stratum("boat", 30, 14))
    whole = draw_by_tags(quay, ["dog", "boat"], seed=1)
    assert sorted(numbers(whole)) == list(range(50)), "each once, though ten have both"


def test_a_sample_is_drawn_by_chance_the_same_again_and_grows(quay: Corpus) -> None:
    small = draw_by_tags(quay, ["dog", "boat"], number=10, seed=1)
    assert small == draw_by_tags(quay, ["dog", "boat"], number=10, seed=1)
    assert draw_by_tags(quay, ["dog", "boat"], number=20, seed=1).images[:10] == small.images
    assert draw_by_tags(quay, ["dog", "boat"], number=10, seed=2).images != small.images
    assert sorted(numbers(small)) != list(range(10)), "not in the corpus's order"
    assert {n % 2 for n in numbers(draw_by_tags(quay, ["boat"], number=9, seed=1, split="b"))} == {1}


def test_what_cannot_be_drawn_is_refused(quay: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        UnknownName, match="no image of corpus 'quay' has the tag 'boats'; did you mean boat?"
    ):
        draw_by_tags(quay, ["dog", "boats"], seed=1)
    with pytest.raises(BadTagQuery, match="must stand between two tags"):
        draw_by_tags(quay, ["dog and"], seed=1)
    for strata in ([], ["dog", " "]):
        with pytest.raises(BadTagQuery, match="name at least one"):
            draw_by_tags(quay, strata, seed=1)
    monkeypatch.setattr("annotation.selectors.tags.samples.LARGEST_SAMPLE", 29)
    with pytest.raises(BadTagQuery, match="find 30 images; draw 29 at most"):
        draw_by_tags(quay, ["dog"], seed=1)
    a_corpus("plain", [an_image("i0", "A dog .", layered=False)])
    with pytest.raises(UnknownName, match="corpus 'plain' has no tags; rank its tags first"):
        draw_by_tags(Corpus.objects.get(name="plain"), ["dog"], seed=1)


@pytest.mark.parametrize("images", [10, 40])
def test_a_draw_takes_as_many_queries_whatever_it_finds(
    quay: Corpus, images: int, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1 + 2 * 5):
        draw_by_tags(quay, ["dog", "boat"], number=images, seed=1)


def opened(campaign: Campaign) -> set[int]:
    return {int(key[1:]) for key in campaign.images.values_list("image__key", flat=True)}


@pytest.mark.parametrize("tasks", ["captions", "entities", "graded"])
def test_a_campaign_is_opened_about_images_with_some_tags(quay: Corpus, tasks: str) -> None:
    plan = campaigns.CampaignPlan(
        name="work", corpus="quay", tasks=tasks, settings=TRUSTING, images=8, tags=("frisbee", "boat")
    )
    campaign = campaigns.open_campaign(plan)
    ours = opened(campaign)
    assert len(ours) == 8 and len(ours & {*FRISBEES}) == 4 and len(ours & {*BOATS}) == 4
    if tasks == "captions":
        done = campaigns.open_campaign_images(campaign=campaign, images=12, tags=("frisbee", "boat"))
        assert (done.opened, done.there) == (4, 8) and opened(campaign) > ours
        again = campaigns.open_campaign_images(campaign=campaign, images=12, tags=("frisbee", "boat"))
        assert again.opened == 0
        with pytest.raises(CampaignError, match="must stand between two tags"):
            campaigns.open_campaign_images(campaign=campaign, tags=("and",))


def test_the_command_takes_queries(quay: Corpus) -> None:
    ask = ("open_campaign", "work", "--corpus", "quay", "--tasks", "captions", "--images", "6", "--unpaid")
    with pytest.raises(CommandError, match="no image of corpus 'quay' has the tag 'cat'"):
        call_command(*ask, "--tags", "cat")
    call_command(*ask, "--tags", "frisbee and dog", "boat")
    ours = opened(Campaign.objects.get(name="work"))
    assert len(ours & {*FRISBEES}) == len(ours & {*BOATS}) == 3


def test_the_page_takes_a_query_a_line(quay: Corpus) -> None:
    ada = world.signed_in("ada", "researcher")
    ask = {"name": "work", "corpus": "quay", "tasks": "captions", "images": "6", "unpaid": "on"}
    response = press(ada, "/operations/open_campaign/", "Open a campaign", **ask, tags="dog\r\ncatt")
    assert "has the tag &#x27;catt&#x27;" in response.content.decode() and not Campaign.objects.exists()
    press(ada, "/operations/open_campaign/", "Open a campaign", **ask, tags="frisbee\r\n\r\nboat\r\n")
    assert jobs.run_queued_job(Job.objects.latest("pk").pk) == Job.DONE
    ours = opened(Campaign.objects.get(name="work"))
    assert len(ours & {*FRISBEES}) == len(ours & {*BOATS}) == 3
