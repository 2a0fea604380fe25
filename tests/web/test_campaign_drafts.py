"""Opening a campaign step by step: drafts, a test marked on a grid, a preview, the check, a pilot."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotation import campaigns, instructions, jobs
from annotation.campaigns.drafts import estimate, posing
from annotation.campaigns.drafts.reading import read_draft
from annotation.campaigns.phrases import mark_phrases
from annotation.models import (
    Account,
    Assignment,
    Campaign,
    CampaignDraft,
    Control,
    Corpus,
    Image,
    Item,
    Job,
    Judgment,
    OpenImage,
    RoleGrant,
    Task,
)
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.kinds import kinds_of_tasks
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.relevance.rules import RELEVANCE
from tests.factories import a_corpus, an_image, some_images
from tests.sizes import by_default
from tests.web import world as people
from tests.web.staff import forms, messages_on, press, words

pytestmark = pytest.mark.django_db
START = "/campaign-drafts/"
STEPS = ("corpus", "questions", "pay", "test", "votes")


@pytest.fixture
def ada() -> Client:
    return people.signed_in("ada", "researcher")


def begun(client: Client, corpus: str) -> CampaignDraft:
    press(client, START, "Begin", corpus=corpus)
    return CampaignDraft.objects.latest("pk")


def at(draft: CampaignDraft, step: str) -> str:
    return reverse("draft_step", args=[draft.pk, step])


def plain_corpus(name: str, number: int = 14) -> Any:
    """Import images with captions and without layers, so that no gold exists."""
    return a_corpus(
        name,
        [
            an_image(
                f"{n:03}", "A man in a red hat crosses the street .", "A man walks a dog .", layered=False
            )
            for n in range(number)
        ],
    )


def run_jobs() -> None:
    for job in Job.objects.filter(state=Job.QUEUED).order_by("pk"):
        jobs.run_queued_job(job.pk)


def test_of_a_draft_without_a_corpus_nothing_can_be_marked(ada):
    a_corpus("streets", some_images(3))
    draft = begun(ada, "streets")
    CampaignDraft.objects.filter(pk=draft.pk).update(corpus=None)
    for route, kind, status in (
        ("mark_items", q.COREF_LINK, 200),
        ("mark_boxes", q.BOX_DRAWING, 404),
        ("preview_task", q.COREF_LINK, 200),
    ):
        assert ada.get(reverse(route, args=[draft.pk, kind])).status_code == status


def test_who_presses_next_throughout_gets_a_campaign_with_pay_and_a_test(ada):
    a_corpus("streets", some_images(24))
    draft = begun(ada, "streets")
    for step in STEPS:
        page = press(ada, at(draft, step), "Next")
        assert page.status_code == 200 and "not complete" not in words(page), step
    assert page.request["PATH_INFO"] == at(draft, "preview")
    page = press(ada, at(draft, "open"), "Open the campaign")
    assert messages_on(page) == ["Opening the images. The campaign opens after that."]
    run_jobs()
    campaign = Campaign.objects.get()
    assert (campaign.name, campaign.state, str(campaign.created_by)) == ("streets-1", "open", "ada")
    assert not CampaignDraft.objects.exists()
    pay = settings_of(campaign.settings).pay
    assert pay.basis == "item" and not pay.unpaid(campaign.kinds)
    # 29 seconds of drawing at 12 an hour are 0.0967, rounded up.
    assert pay.per_item[q.BOX_DRAWING] == 0.1
    assert set(Control.objects.values_list("source", "purpose")) == {
        ("gold", "control"),
        ("gold", "qualification"),
    }
    assert OpenImage.objects.count() == 20


def test_a_pilot_goes_on_with_all_images_by_one_button(ada):
    a_corpus("streets", some_images(24))
    draft = begun(ada, "streets")
    press(ada, at(draft, "open"), "Open the campaign")
    run_jobs()
    page = ada.get("/campaigns/streets-1/")
    assert "This is a pilot 4 other images are not asked about yet." in words(page)
    page = press(ada, "/campaigns/streets-1/", "Continue with all images")
    assert messages_on(page) == ["Opening the other images."]
    run_jobs()
    assert OpenImage.objects.count() == 24
    page = ada.get("/campaigns/streets-1/")
    assert "This is a pilot" not in words(page) and "continued with all images after a pilot" in words(page)
    form_data = {"campaign": "streets-1"}
    again = ada.post(reverse("operation", args=["go_on_with_all"]), form_data)
    assert "is no pilot that could continue" in words(again) and OpenImage.objects.count() == 24


@pytest.mark.parametrize(("tasks", "kind"), [("graded", GRADED_RELEVANCE), ("relevance", RELEVANCE)])
def test_a_pilot_of_pairs_goes_on_with_pairs_of_the_other_images(ada, tasks, kind):
    a_corpus("streets", some_images(24))
    draft = begun(ada, "streets")
    press(ada, at(draft, "questions"), "Next", tasks=tasks)
    press(ada, at(draft, "test"), "Next", entry="none")
    press(ada, at(draft, "open"), "Open the campaign")
    run_jobs()

    def pairs() -> set[tuple[int, int, int]]:
        """Return the (image, caption's image, caption's position) of the questions."""
        names = set()
        for content, image in Item.objects.values_list("content", "task__image__image"):
            request = content["captions"] if "captions" in content else [content["caption"]]
            names |= {(content.get("image", image), *caption) for caption in request}
        return names

    first, keys = pairs(), set(Task.objects.values_list("key", flat=True))
    assert len({image for image, _, _ in first}) == 20
    press(ada, "/campaigns/streets-1/", "Continue with all images")
    run_jobs()
    more = pairs() - first
    assert len({image for image, _, _ in pairs()}) == 24 and first < pairs()
    assert {image for image, _, _ in more}.isdisjoint({image for image, _, _ in first})
    assert keys < set(Task.objects.values_list("key", flat=True))
    assert set(Task.objects.values_list("kind", flat=True)) == {kind}


def test_captions_are_asked_as_the_steps_say(ada):
    plain_corpus("photos")
    draft = begun(ada, "photos")
    press(ada, at(draft, "corpus"), "Next", name="written", images="6")
    press(ada, at(draft, "questions"), "Next", tasks="captions")
    press(ada, at(draft, "pay"), "Next", **{f"pay.per_item.{CAPTION_WRITING}": "0.25"})
    press(ada, at(draft, "votes"), "Next", **{f"answers.{CAPTION_WRITING}": "2", "stop.budget": "40"})
    page = words(ada.get(at(draft, "open")))
    # Six images, two sentences each: counted, not estimated.
    assert "answers 12 12 – 12" in page and "cost 3.00 USD 3.00 – 3.00" in page
    assert "The test of sentences that comes with caption writing." in page
    press(ada, at(draft, "open"), "Open the campaign", open_to_all="yes")
    run_jobs()
    campaign = Campaign.objects.get()
    settings = settings_of(campaign.settings)
    assert (campaign.name, campaign.tasks, campaign.open_to_all) == ("written", "captions", True)
    assert settings.answers.answers_needed(CAPTION_WRITING) == 2 and settings.stop.budget == 40
    assert settings.pay.per_item == {CAPTION_WRITING: 0.25}
    assert OpenImage.objects.count() == 6
    assert Control.objects.filter(purpose="qualification").count() == 36


@pytest.mark.parametrize(
    ("step", "values", "field", "message"),
    [
        ("corpus", {"name": "a b"}, "name", "letters, digits"),
        ("corpus", {"name": "gold"}, "name", "taken for the corpus"),
        ("corpus", {"images": "many"}, "images", "is not a number of images"),
        ("pay", {"pay.per_item.coref_link": "-1"}, "pay.per_item.coref_link", "0 to"),
        ("pay", {"pay.per_item.coref_link": "dear"}, "pay.per_item.coref_link", "expected a number"),
        ("pay", {"pay.per_item.coref_link": "0"}, "unpaid", "would earn nothing"),
        ("votes", {"link_votes": "2"}, "link_votes", "expected an odd number"),
        ("votes", {"stop.until": "2026-02-30"}, "stop.until", "expected a day that exists"),
    ],
)
def test_what_cannot_be_is_said_at_its_field_and_kept_as_typed(ada, step, values, field, message):
    plain_corpus("photos", 2)
    draft = begun(ada, "photos")
    page = press(ada, at(draft, step), "Next", **values)
    assert page.status_code == 409 and message in words(page)
    assert f'id="{field}_error"' in page.content.decode() or f'href="#{field}"' in page.content.decode()
    # It is still there after signing in again, and the campaign is not opened.
    again = Client()
    again.force_login(Account.objects.get(username="ada"))
    reply = again.get(at(draft, step)).content.decode()
    for value in filter(None, values.values()):
        assert f'value="{value}"' in reply
    check = words(again.get(at(draft, "open")))
    assert "Not ready yet" in check and message.casefold() in check.casefold()
    response = again.post(at(draft, "open"), {"go": "open-now"}, follow=True)
    assert "It cannot be opened yet" in messages_on(response)[0] and not Campaign.objects.exists()


def test_a_step_that_is_wrong_does_not_keep_anybody_from_another(ada):
    plain_corpus("photos", 2)
    draft = begun(ada, "photos")
    page = ada.post(at(draft, "votes"), {"link_votes": "2", "shown": "link_votes", "go": "corpus"})
    assert page.status_code == 302 and page["Location"] == at(draft, "corpus")
    draft.refresh_from_db()
    assert draft.fields["link_votes"] == "2"


def test_a_test_that_is_marked_on_the_grid_is_stored_as_control_items(ada):
    plain_corpus("photos")
    draft = begun(ada, "photos")
    grid = reverse("mark_items", args=[draft.pk, q.COREF_LINK])
    posed = posing.posed_questions(read_draft(draft), q.COREF_LINK)
    assert len(posed) == 12 and len({item.image for item in posed}) == 12
    answers = {f"mark-{n}": ("yes", "no")[n % 2] for n in range(11)}
    page = press(ada, grid, "Save", **answers)
    assert messages_on(page) == ["11 items of links are marked."]
    page = press(ada, f"{grid}?purpose=control", "Save", **{"mark-0": "yes"})
    check = words(ada.get(at(draft, "open")))
    assert "Test of links 11 of 12 items." in check
    assert "Test of verification Nothing is marked: it begins with practice." in check
    # The page shows the stored marks, and removes one.
    press(ada, grid, "Save", **{"mark-10": ""})
    press(ada, at(draft, "open"), "Open the campaign")
    run_jobs()
    campaign = Campaign.objects.get()
    assert campaign.state == "open"
    rows = Control.objects.filter(campaign=campaign, purpose="qualification").select_related("image")
    by_image = {row.image.key: row for row in rows}
    assert len(by_image) == 10
    for number, item in enumerate(posed[:10]):
        row = by_image[item.key]
        assert (row.known, row.source, row.kind) == (answers[f"mark-{number}"], "page", q.COREF_LINK)
        assert tuple(row.content["mentions"]) == item.mentions and row.key.startswith(q.COREF_LINK)
    assert Control.objects.get(purpose="control").image.key == posed[0].key


def test_marks_that_all_have_one_answer_keep_the_campaign_shut(ada):
    plain_corpus("photos")
    draft = begun(ada, "photos")
    grid = reverse("mark_items", args=[draft.pk, q.COREF_LINK])
    press(ada, grid, "Save", **{f"mark-{n}": "yes" for n in range(12)})
    check = words(ada.get(at(draft, "open")))
    assert "Not ready yet" in check and "All marks have one answer, so nobody could begin" in check
    press(ada, grid, "Save", **{"mark-3": "no"})
    assert "Ready to open" in words(ada.get(at(draft, "open")))


def test_an_answer_never_lands_on_another_picture(ada):
    plain_corpus("photos", 40)
    draft = begun(ada, "photos")
    grid = reverse("mark_items", args=[draft.pk, q.COREF_LINK])
    first = ada.get(grid)
    (form,) = (form for form in forms(first) if "Save" in form.buttons)
    before = {name: values[-1] for name, values in form.fields.items()}
    press(ada, grid, "Save", **{"mark-0": "yes"})
    draft.refresh_from_db()
    stored = draft.marks
    # Another tab changes the number of images: the grid shows others.
    press(ada, at(draft, "corpus"), "Next", images="3")
    draft.refresh_from_db()
    posed = posing.posed_questions(read_draft(draft), q.COREF_LINK)
    stamps = [before[f"mark-{n}-of"] for n in range(12)]
    moved = [n for n in range(12) if posed[n].stamp != stamps[n]]
    assert 0 < len(moved)
    page = ada.post(grid, before | {f"mark-{n}": "no" for n in range(12)})
    assert page.status_code == 409
    text = "The pictures have changed since you opened this page: mark this one again."
    # Shown above the grid and at each card.
    assert words(page).count(text) == 2 * len(moved)
    (again,) = (form for form in forms(page) if "Save" in form.buttons)
    # A picture that was marked before may have moved to another card: it keeps its mark.
    was = {mark["image"]: mark["known"] for mark in stored}
    assert all(again.fields[f"mark-{n}"][-1] == was.get(posed[n].key, "") for n in moved)
    draft.refresh_from_db()
    staying = {posed[n].key for n in range(12) if n not in moved}
    marked = {mark["image"]: mark["known"] for mark in draft.marks}
    assert marked == {mark["image"]: mark["known"] for mark in stored} | dict.fromkeys(staying, "no")
    # Removed pictures are reported, too.
    Image.objects.filter(corpus=draft.corpus, position__gte=5).delete()
    page = ada.post(grid, before | {f"mark-{n}": "no" for n in range(12)})
    assert page.status_code == 409 and "is gone: its answer was not saved" in words(page)


def test_boxes_that_are_drawn_answer_the_other_questions_about_boxes_too(ada):
    plain_corpus("photos")
    draft = begun(ada, "photos")
    posed = posing.posed_questions(read_draft(draft), q.BOX_DRAWING)
    index = reverse("mark_boxes", args=[draft.pk, q.BOX_DRAWING])
    box = {"answer": "drawn", "xmin": "100", "ymin": "50", "xmax": "220", "ymax": "300", "way": "drag"}
    for number, item in enumerate(posed[:8]):
        address = f"{index}?purpose=qualification&image={item.key}"
        drawn = {**box, "of": item.stamp}
        reply = ada.get(address)
        assert [item.stamp] in [form.fields.get("of") for form in forms(reply)]
        page = ada.post(address, drawn)
        assert page.status_code == 302, page.content.decode()[:500]
        if number % 2:
            ada.post(address, {**drawn, "xmin": "300", "xmax": "400"})
        page = ada.post(address, {"answer": "none", "of": item.stamp})
        assert page.status_code == 302
    response = ada.post(f"{index}?image={posed[9].key}", {**box, "of": posed[8].stamp})
    assert response.status_code == 422 and "This picture has changed" in words(response)
    small = ada.post(f"{index}?image={posed[9].key}", {**box, "of": posed[9].stamp, "xmax": "9000"})
    assert small.status_code == 422 and "leaves image" in words(small)
    press(ada, at(draft, "open"), "Open the campaign")
    run_jobs()
    assert Campaign.objects.get().state == "open"
    controls = Control.objects.order_by("pk").values_list("kind", "purpose", "stratum")
    strata = {(kind, purpose): set[str]() for kind, purpose, _ in controls}
    for kind, purpose, stratum in controls:
        strata[kind, purpose].add(stratum)
    assert strata[q.BOX_DRAWING, "qualification"] == {"drawn", "none"}
    assert strata[q.BOX_QUALITY, "qualification"] == {"good", "bad"}
    assert strata[q.BOX_QUALITY, "control"] == {"good", "bad"}
    for row in Control.objects.filter(kind=q.BOX_QUALITY):
        assert (row.content["pending"] == [100, 50, 220, 300]) == (row.known == "good")


def test_relevance_is_marked_by_ticks(ada):
    a_corpus("streets", some_images(14))
    draft = begun(ada, "streets")
    press(ada, at(draft, "questions"), "Next", tasks="relevance")
    grid = reverse("mark_items", args=[draft.pk, RELEVANCE])
    page = press(ada, grid, "Save", **{"mark-0-0": "on", "mark-1-0": "on", "mark-1-1": "on"})
    assert "2 items of relevance are marked." in messages_on(page)[0]
    every = {f"mark-2-{n}": "on" for n in range(8)}
    page = press(ada, grid, "Save", **every)
    assert page.status_code == 409 and "with 8 true captions: expected 1 to 3" in words(page)
    draft.refresh_from_db()
    assert sorted(sum(mark["known"]) for mark in draft.marks) == [1, 2]


def test_a_preview_shows_the_workers_page_and_stores_nothing(ada):
    a_corpus("streets", some_images(14))
    draft = begun(ada, "streets")
    for tasks in ("entities", "relevance", "graded", "captions", "regions", "tags"):
        press(ada, at(draft, "questions"), "Next", tasks=tasks)
        for kind in kinds_of_tasks(tasks):
            page = ada.get(reverse("preview_task", args=[draft.pk, kind]))
            text = page.content.decode()
            assert page.status_code == 200 and "Nothing is stored" in text, kind
            assert 'class="question"' in text and 'name="answer"' in text, kind
    press(ada, at(draft, "questions"), "Next", tasks="entities")
    address = reverse("preview_task", args=[draft.pk, q.COREF_LINK])
    page = ada.post(address, {"answer": "yes"})
    assert "A worker’s answer would now be stored: yes" in words(page)
    assert ada.post(address, {"answer": "perhaps"}).status_code == 422
    assert not any(model.objects.exists() for model in (Campaign, Judgment, Assignment, Task, Control))


def test_the_check_warns_where_captions_are_not_english_and_opens_all_the_same(ada):
    captions = ("Ein Hund läuft über die Wiese .", "Ein Mann mit Hut überquert die Straße .")
    a_corpus("wiese", [an_image(f"{n}", *captions, layered=False) for n in range(2)])
    draft = begun(ada, "wiese")
    check = words(ada.get(at(draft, "open")))
    assert "Only 0 % of the captions read as English. Phrases are found in English alone" in check
    assert "Ready to open" in check
    for row in Image.objects.filter(corpus__name="wiese").select_related("corpus"):
        mark_phrases(image=row, spans=[(0, 0, 2)])
    assert "read as English" not in words(ada.get(at(draft, "open")))
    press(ada, at(draft, "questions"), "Next", tasks="relevance")
    assert "Choose workers who read their language" in words(ada.get(at(draft, "open")))
    press(ada, at(draft, "questions"), "Next", tasks="regions")
    assert "read as English" not in words(ada.get(at(draft, "open")))


def test_the_check_does_not_warn_where_captions_are_english_or_phrases_came_with_them(ada):
    plain_corpus("photos", 2)
    a_corpus("hund", [an_image("0", "[/EN#1/animals Ein Hund] läuft weit weg .")])
    warned = [
        "read as English" in words(ada.get(at(begun(ada, name), "open"))) for name in ("photos", "hund")
    ]
    assert warned == [False, False]


def test_a_draft_belongs_to_who_began_it(ada):
    plain_corpus("photos", 2)
    draft = begun(ada, "photos")
    bob = people.signed_in("bob", "researcher")
    assert "photos-1" not in words(bob.get(START)) and "photos-1" in words(ada.get(START))
    for route in ("draft_settings", "delete_draft"):
        assert bob.post(reverse(route, args=[draft.pk])).status_code == 404
    assert bob.get(at(draft, "open")).status_code == 404
    page = press(ada, START, "Delete")
    assert messages_on(page) == ["Draft “photos-1” deleted."] and not CampaignDraft.objects.exists()


def test_settings_come_and_go_as_toml(ada):
    plain_corpus("photos", 2)
    draft = begun(ada, "photos")
    address = reverse("draft_settings", args=[draft.pk])
    text = "link_votes = 3\n[trust]\nbar = 0.9\nqualification = false\n[pay]\nbasis = 'hour'\nhourly = 11.5"
    press(ada, address, "Take these settings", settings=text)
    draft.refresh_from_db()
    plan = read_draft(draft)
    assert (plan.settings.protocol.link_votes, plan.settings.trust.bar, plan.entry) == (3, 0.9, "none")
    assert (plan.settings.pay.basis, plan.settings.pay.hourly) == ("hour", 11.5)
    response = ada.get(at(draft, "pay")).content.decode()
    assert 'value="11.5"' in response
    assert "bar = 0.9" in ada.get(address).content.decode()
    reply = press(ada, address, "Take these settings", settings="link_votes = 2")
    assert reply.status_code == 409 and "link_votes = 2" in reply.content.decode()
    # The value of a step overrides the uploaded one.
    press(ada, at(draft, "votes"), "Next", link_votes="5")
    draft.refresh_from_db()
    assert read_draft(draft).settings.protocol.link_votes == 5
    assert read_draft(draft).settings.trust.bar == 0.9


def test_a_campaign_is_duplicated_into_a_draft_with_its_texts_and_items(ada):
    plain_corpus("photos", 3)
    settings = {"verification_votes": 3, "pay": {"basis": "hour", "hourly": 9.0}}
    campaign = campaigns.create_campaign(name="first", corpus="photos", tasks="entities", settings=settings)
    instructions.publish_text(campaign=campaign, kind=q.COREF_LINK, text="Look twice.")
    page = press(ada, "/campaigns/first/", "Duplicate this campaign")
    assert messages_on(page) == ["A draft with the settings of “first”: change what differs."]
    draft = CampaignDraft.objects.get()
    plan = read_draft(draft)
    assert plan.name == "first-1" and plan.settings == settings_of(settings)
    preview = ada.get(reverse("preview_task", args=[draft.pk, q.COREF_LINK]))
    assert "Look twice." in words(preview)
    press(ada, at(draft, "open"), "Open the campaign")
    run_jobs()
    copy = Campaign.objects.get(name="first-1")
    assert settings_of(copy.settings) == settings_of(settings) and copy.state == "open"
    assert instructions.current_text(campaign=copy, kind=q.COREF_LINK).text == "Look twice."


def test_a_draft_reads_no_campaign_that_is_not_open_to_its_owner_any_more(ada):
    plain_corpus("photos", 3), plain_corpus("others", 3)
    campaign = campaigns.create_campaign(name="first", corpus="photos", tasks="entities", settings={})
    press(ada, "/campaigns/first/", "Duplicate this campaign")
    instructions.publish_text(campaign=campaign, kind=q.COREF_LINK, text="Look twice.")
    others = Corpus.objects.get(name="others")
    RoleGrant.objects.update(corpus=others)
    CampaignDraft.objects.update(corpus=others)
    draft = CampaignDraft.objects.get()
    assert draft.like == campaign and read_draft(draft).like is None
    preview = words(ada.get(reverse("preview_task", args=[draft.pk, q.COREF_LINK])))
    assert "Look twice." not in preview


@pytest.mark.parametrize("entry", by_default(2, ["marked", "none", "practice"]))
def test_items_that_come_along_with_a_duplicate_are_a_test_where_one_is_wanted(ada, entry):
    plain_corpus("photos", 14)
    first = begun(ada, "photos")
    grid = reverse("mark_items", args=[first.pk, q.COREF_LINK])
    press(ada, grid, "Save", **{f"mark-{n}": ("yes", "no")[n % 2] for n in range(12)})
    press(ada, f"{grid}?purpose=control", "Save", **{"mark-0": "yes", "mark-1": "no"})
    press(ada, at(first, "open"), "Open the campaign")
    run_jobs()
    press(ada, f"/campaigns/{Campaign.objects.get().name}/", "Duplicate this campaign")
    draft = CampaignDraft.objects.get()
    press(ada, at(draft, "test"), "Next", entry=entry)
    check = words(ada.get(at(draft, "open")))
    assert ("Test of links 12 of 12 items." in check) == (entry == "marked")
    lacking = re.search(r"None for (.*): accuracy is not measured", check)
    assert lacking is None or "links" not in lacking[1].split(", ")
    press(ada, at(draft, "open"), "Open the campaign")
    run_jobs()
    control = Control.objects.filter(campaign=Campaign.objects.latest("pk"), kind=q.COREF_LINK)
    assert control.filter(purpose="qualification").count() == (12 if entry == "marked" else 0)
    assert control.filter(purpose="control").count() == 2


def test_the_estimate_of_chains_has_an_interval_and_keeps_what_it_counted(ada, monkeypatch):
    plain_corpus("photos", 9)
    draft = begun(ada, "photos")
    monkeypatch.setattr(estimate, "SECONDS_A_LOOK", 0.0)
    result = estimate.estimate_draft(read_draft(draft), pilot=20)
    assert result is not None and (result.sampled, result.whole, result.guessed) == (
        estimate.AT_ONCE,
        False,
        True,
    )
    assert 0 < result.hours.low < result.hours.value < result.hours.high
    assert 0 < result.cost.low <= result.cost.value <= result.cost.high
    draft.refresh_from_db()
    assert len(draft.sample["images"]) == estimate.AT_ONCE
    more = estimate.estimate_draft(read_draft(draft), pilot=20)
    assert more is not None and more.sampled == 2 * estimate.AT_ONCE
    # Other settings of the protocol are another rehearsal: three votes take more answers.
    press(ada, at(draft, "votes"), "Next", link_votes="3")
    draft.refresh_from_db()
    thrice = estimate.estimate_draft(read_draft(draft), pilot=20)
    assert thrice is not None and thrice.sampled == estimate.AT_ONCE
    assert thrice.by_kind[q.COREF_LINK] > 1.5 * more.by_kind[q.COREF_LINK]


def test_queries_of_a_step_do_not_grow_with_the_images(ada, django_assert_max_num_queries):
    counts = []
    for name, number in (("few", 4), ("many", 60)):
        a_corpus(name, some_images(number))
        draft = begun(ada, name)
        with django_assert_max_num_queries(200):
            before = len(connection.queries_log)
            connection.force_debug_cursor = True
            for step in ("corpus", "questions", "pay", "test", "votes", "preview"):
                assert ada.get(at(draft, step)).status_code == 200
            connection.force_debug_cursor = False
            counts.append(len(connection.queries_log) - before)
    assert counts[0] == counts[1]
