"""What workers are told, in versions, and what they agree to."""

from __future__ import annotations

import pytest
from django.utils.translation import override

from annotation import instructions
from annotation.campaigns import CampaignError, CampaignPlan, open_campaign
from annotation.instructions import CONSENT, StaleText
from annotation.models import Account, AuditEntry, Campaign, Consent, Instructions, Judgment, Worker
from annotation.protocol import questions as q
from annotation.task_types.base import TASK_TYPES
from annotation.web.tags.examples import examples
from tests.factories import a_corpus, some_images
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db


def a_campaign() -> Campaign:
    a_corpus("photos", some_images(1))
    return open_campaign(CampaignPlan(name="c", corpus="photos", tasks="entities", settings=TRUSTING))


def a_worker(name: str = "w") -> int:
    return Worker.objects.create(pseudonym=name).pk


@pytest.mark.parametrize("kind", q.QUESTIONS)
def test_every_question_has_instructions_with_good_and_bad_examples(kind):
    text = instructions.built_in_text(kind)
    sorts = [paragraph.sort for paragraph in text.paragraphs]
    assert text.version == 0 and sorts.count("good") >= 2 and sorts.count("bad") >= 2 and sorts[0] == ""
    assert not any(p.text.startswith(("Good", "Bad")) for p in text.paragraphs if p.sort)


def test_the_instructions_name_the_answers_that_can_be_given():
    """By what their buttons say: nobody sees the words that are stored."""
    for kind in (q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT, q.BOX_COVERAGE):
        for choice in TASK_TYPES.get(kind).choices:
            assert str(choice.label) in instructions.built_in_text(kind).text, (kind, choice.label)


@pytest.mark.parametrize("kind", q.QUESTIONS)
def test_a_campaign_shows_the_built_in_text_in_each_language_with_its_pictures(kind):
    campaign = a_campaign()
    visible = instructions.current_text(campaign=campaign, kind=kind)
    german = instructions.text_in_language(visible, "de")
    assert german.version == visible.version == 1 and german.text != visible.text
    assert [part.sort for part in german.paragraphs] == [part.sort for part in visible.paragraphs]
    for text in (visible, german):
        assert instructions.is_built_in_text(text, "de")
    assert not instructions.is_built_in_text(german, None)
    with override("de"):
        assert "<img" in examples(visible) or "<svg" in examples(visible)
    another = instructions.publish_text(campaign=campaign, kind=kind, text=visible.text + " And more.")
    assert instructions.text_in_language(another, "de") == another and not instructions.is_built_in_text(
        another, "de"
    )


def test_the_consent_text_says_what_is_kept_and_how_to_be_forgotten():
    text = instructions.built_in_text(CONSENT).text
    assert "voluntary" in text and "forgotten" in text and "drawn at random" in text


def test_a_new_text_is_a_new_version_and_old_ones_stay():
    campaign, rita = a_campaign(), Account.objects.create(username="rita")
    before = campaign.revision
    published = instructions.publish_text(
        campaign=campaign, kind=q.BOX_QUALITY, text="Look.\n\n\nGood: a\ntight box \n", actor=rita
    )
    assert (published.version, published.text) == (2, "Look.\n\nGood: a tight box")
    assert [(p.sort, p.text) for p in published.paragraphs] == [("", "Look."), ("good", "a tight box")]
    assert instructions.current_text(campaign=campaign, kind=q.BOX_QUALITY) == published
    versions = instructions.text_versions(campaign=campaign, kind=q.BOX_QUALITY)
    assert [row.version for row in versions] == [2, 1]
    assert versions[1].text == instructions.built_in_text(q.BOX_QUALITY).text
    campaign.refresh_from_db()
    assert campaign.revision == before + 1
    entry = AuditEntry.objects.get(act="set_instructions")
    assert entry.actor == rita and entry.about == {"kind": q.BOX_QUALITY, "version": 2}


def test_the_same_text_again_is_no_new_version():
    campaign = a_campaign()
    for _ in range(2):
        instructions.publish_text(campaign=campaign, kind=q.BOX_QUALITY, text="Is it tight?")
    assert Instructions.objects.filter(campaign=campaign, kind=q.BOX_QUALITY).count() == 2


def test_a_judgment_carries_the_version_it_was_given_under():
    world = World(some_images(3), settings=TRUSTING)
    world.submit(0, world.held(0), then=False)
    instructions.publish_text(campaign=world.campaign, kind=q.COREF_LINK, text="The same?")
    world.submit(1, world.held(1), then=False)
    instructions.publish_text(campaign=world.campaign, kind=q.COREF_LINK, text="The very same?")
    world.submit(2, world.held(2), then=False)
    assert list(Judgment.objects.order_by("pk").values_list("instructions", flat=True)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("poetry", "Rhyme.", "no instructions of 'poetry'; known: consent, coref_link"),
        (q.BOX_QUALITY, " \n\n ", "instructions of box_quality are empty"),
        (q.BOX_QUALITY, "x" * 20_001, "20001 characters; expected at most 20000"),
    ],
)
def test_texts_that_cannot_be_are_refused(kind, text, message):
    with pytest.raises(CampaignError, match=message):
        instructions.publish_text(campaign=a_campaign(), kind=kind, text=text)


def test_everybody_agrees_once_to_each_version():
    campaign, anna, ben = a_campaign(), a_worker("a"), a_worker("b")
    assert instructions.needs_consent(worker=anna, campaign=campaign)
    for _ in range(2):
        instructions.record_consent(worker=anna, campaign=campaign, version=1)
    assert Consent.objects.count() == 1
    assert not instructions.needs_consent(worker=anna, campaign=campaign)
    assert instructions.needs_consent(worker=ben, campaign=campaign)
    instructions.publish_text(campaign=campaign, kind=CONSENT, text="We now publish pictures of you.")
    assert instructions.needs_consent(worker=anna, campaign=campaign)


def test_nobody_agrees_to_a_text_that_they_did_not_see():
    campaign, anna = a_campaign(), a_worker()
    visible = instructions.current_text(campaign=campaign, kind=CONSENT).version
    instructions.publish_text(campaign=campaign, kind=CONSENT, text="Something else.")
    with pytest.raises(StaleText, match="read it again"):
        instructions.record_consent(worker=anna, campaign=campaign, version=visible)
    assert instructions.needs_consent(worker=anna, campaign=campaign)


def test_an_empty_consent_text_asks_nobody():
    campaign, anna = a_campaign(), a_worker()
    instructions.publish_text(campaign=campaign, kind=CONSENT, text="")
    assert not instructions.needs_consent(worker=anna, campaign=campaign)


def test_agreeing_to_the_built_in_text_freezes_it():
    world, anna = World(), a_worker()
    assert instructions.current_text(campaign=world.campaign, kind=CONSENT).version == 0
    instructions.record_consent(worker=anna, campaign=world.campaign, version=0)
    assert instructions.current_text(campaign=world.campaign, kind=CONSENT).version == 1
    assert not instructions.needs_consent(worker=anna, campaign=world.campaign)
