"""The pages of campaigns for staff: overview, rulings with a mouse, waiting for a job."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation import jobs
from annotation.models import Campaign, Control, Job, OpenImage, Ruling
from annotation.protocol import questions as q
from annotation.protocol.contents import mention_from
from annotation.web.staff.dashboard import part
from annotation.workers import bonuses, messages, payments
from annotation.workers.accounts import first, granting, inviting
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import for_everybody
from tests.queue.world import World
from tests.review.world import answer, report, the_world
from tests.sizes import THOROUGH
from tests.web import world as people

DOGS, MORE_DOGS, PARK = "0:3-5", "1:6-7", "0:6-8"
IMAGE = "/campaigns/walks/images/scene-1/"
#: Every page, and every state of one that looks different.
PAGES = (
    "/campaigns/",
    "/campaigns/walks/",
    "/campaigns/walks/settings/",
    "/campaigns/walks/order/",
    "/campaigns/walks/review/?reports=all",
    IMAGE,
    f"{IMAGE}?chain=1",
    f"{IMAGE}?chain=2&draw=1",
    "/campaigns/walks/images/scene-0/",
    f"{IMAGE}phrases/",
    "/campaigns/walks/phrases/?words=dogs&act=categorise&categories=other&whole=false",
    "/campaigns/walks/workers/",
    "/campaigns/walks/workers/walks-w0/",
    "/campaigns/walks/payments/",
    "/campaigns/walks/dashboard/",
    "/campaigns/walks/control-items/",
    "/campaigns/walks/control-items/new/?image=scene-1&kind=coref_link",
    "/campaigns/walks/control-items/new/?image=scene-1&kind=box_quality",
    "/campaigns/walks/texts/",
    "/campaigns/walks/jobs/",
    "/campaigns/walks/recruiting/",
    "/operations/open_campaign/",
    "/roles/",
    "/people/",
    "/people/audit/",
    "/account/second-factor/",
)


@pytest.fixture
def walks(transactional_db: None, tmp_path: Path) -> World:
    """A campaign over three pictures: in the second, two dogs and the park are in review."""
    folder = tmp_path / "drawn"
    folder.mkdir()
    world = the_world(
        [people.scene(number, folder) for number in range(3)],
        name="walks",
        pay={"basis": "item", "per_item": {q.COREF_LINK: 0.05}},
    )
    about = {"index": 1, "mention": DOGS}
    answer(world, q.COREF_LINK, "yes", worker=0, **about)
    answer(world, q.CHAIN_VERIFICATION, "false", worker=1, **about)
    for worker in (2, 3):
        report(
            world, q.BOX_REQUIREMENT, "offensive", worker=worker, index=1, mention=PARK, comment="rude words"
        )
    jobs.enqueue(kind="refresh_layer", arguments={"campaign": world.campaign.name}, campaign=world.campaign)
    bonuses.give_bonus(campaign=world.campaign, workers=world.workers[:2], amount=500_000, reason="Thanks")
    payments.pay(worker=world.workers[1], campaign=world.campaign, amount=500_000, reference="bank 17")
    messages.send_messages(campaign=world.campaign, workers=world.workers[:1], text="Draw tighter boxes.")
    for name, role in (("ada", "researcher"), ("rev", "reviewer"), ("boss", "admin")):
        people.account(name, role)
    granting.grant(account=people.account("bob"), role="researcher", campaign=world.campaign)
    inviting.invite_staff(email="somebody@example.org", role="reviewer", corpus=world.corpus)
    return world


def chain(number: int, world: World) -> dict[str, object]:
    """Return the stored chain with this number of the second image."""
    row = OpenImage.objects.get(campaign=world.campaign, image__key="scene-1")
    result: dict[str, object] = row.state["chains"][number - 1]
    return result


def test_every_page_is_for_everybody(walks: World, open_page: Open):
    page = open_page()
    sign_in(page, "boss")
    for address in PAGES if THOROUGH else PAGES[::3]:
        page.goto(address)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        for_everybody(page)


def test_a_campaigns_page_draws_its_charts_and_takes_new_figures_by_itself(
    walks: World, open_page: Open, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(part, "HELD", 0)
    page = open_page()
    page.clock.install()
    sign_in(page, "ada")
    page.goto("/campaigns/walks/")
    expect(page.locator(".charts svg").first).to_be_visible()
    for_everybody(page)
    before = page.locator(".key-figures").inner_text()
    answer(walks, q.COREF_LINK, "yes", worker=2, index=2)
    page.clock.fast_forward(20_000)
    expect(page.locator(".key-figures")).not_to_have_text(before, use_inner_text=True)


def test_ticking_the_head_of_a_table_ticks_its_rows(walks: World, open_page: Open):
    page = open_page()
    sign_in(page, "ada")
    page.goto("/campaigns/walks/workers/")
    rows = page.locator('tbody input[type="checkbox"]')
    page.get_by_label("Choose all on this page").check()
    assert rows.count() > 1 and all(rows.nth(row).is_checked() for row in range(rows.count()))
    rows.first.uncheck()
    assert page.get_by_label("Choose all on this page").evaluate("box => box.indeterminate")


def test_the_first_account_is_made_by_the_link_that_the_server_printed(
    transactional_db: None, open_page: Open
):
    page = open_page()
    page.goto(reverse("first_account", args=[first.token()]))
    for_everybody(page)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password", exact=True).fill("the harbour at six")
    page.get_by_label("Password confirmation").fill("the harbour at six")
    page.get_by_role("button", name="Create my account").click()
    page.get_by_role("link", name="People", exact=True).click()
    page.get_by_role("link", name="Roles and invitations").click()
    expect(page.get_by_role("row", name="ada")).to_contain_text("admin for the whole server")


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag over the picture between two points, as shares of it."""
    at = page.locator(".sheet").bounding_box()
    assert at is not None
    for i, (x, y) in enumerate((start, end)):
        page.mouse.move(at["x"] + x * at["width"], at["y"] + y * at["height"], steps=4)
        (page.mouse.up if i else page.mouse.down)()


def boxes_text(page: Page) -> list[list[int]]:
    text = page.get_by_label("One box per line").input_value()
    return [[int(edge) for edge in re.findall(r"\d+", line)] for line in text.splitlines()]


def near(box: list[int], expected: tuple[int, int, int, int]) -> bool:
    return all(abs(edge - item) <= 3 for edge, item in zip(box, expected, strict=True))


def test_a_reviewer_goes_from_the_queue_to_boxes_that_they_draw(walks: World, open_page: Open):
    page = open_page()
    sign_in(page, "rev", then="/campaigns/")
    page.get_by_role("link", name="Review 2 chains").click()
    page.get_by_role("link", name="the park").click()
    expect(page.get_by_text("Workers reported it instead of answering")).to_be_visible()
    page.get_by_role("link", name="Draw them on the picture").click()
    drag(page, (0.1, 0.2), (0.3, 0.6))
    page.get_by_role("button", name="Add the drawn box").click()
    drag(page, (0.5, 0.2), (0.9, 0.6))
    # The second is not added by hand, and is submitted too.
    page.get_by_role("button", name="Save boxes").click()
    expect(page.get_by_role("status")).to_contain_text("Ruling saved. Another chain")
    assert Ruling.objects.get().content["mentions"] == [PARK]
    first, second = Ruling.objects.get().content["boxes"]
    assert near(first, (49, 73, 144, 216)) and near(second, (241, 73, 432, 216))


def test_a_box_of_the_list_is_changed_with_the_keys_and_another_removed(walks: World, open_page: Open):
    page = open_page()
    sign_in(page, "rev")
    page.goto(f"{IMAGE}?chain=2&draw=1")
    page.get_by_label("One box per line").fill("10, 10, 50, 50\n60, 60, 90, 90")
    listed = page.locator(".boxlist p")
    listed.filter(has_text="10, 10, 50, 50").get_by_role("button", name="Change").click()
    assert boxes_text(page) == [[60, 60, 90, 90]]
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    page.get_by_role("button", name="Add the drawn box").click()
    listed.filter(has_text="60, 60, 90, 90").get_by_role("button", name="Remove").click()
    assert boxes_text(page) == [[11, 10, 51, 51]]
    page.get_by_role("button", name="Add the drawn box").click()
    assert boxes_text(page) == [[11, 10, 51, 51]]


def test_enter_in_a_field_rules_nothing(walks: World, open_page: Open):
    page = open_page()
    sign_in(page, "rev", then=IMAGE)
    page.get_by_text("It has no box").click()
    page.get_by_label("The scene as a whole").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/rulings/add/$"))
    expect(page.get_by_text("Nothing was chosen: use one of the buttons.")).to_be_visible()
    assert not Ruling.objects.exists()


def test_a_row_of_the_list_lights_its_chain_and_opens_it(walks: World, open_page: Open):
    page = open_page()
    sign_in(page, "rev", then=IMAGE)
    row = page.locator(".chain").nth(3)
    row.hover()
    expect(page.locator("[data-light]")).to_have_attribute("data-lit", "4")
    row.click()
    expect(page).to_have_url(re.compile(r"\?chain=4$"))
    expect(page.locator("#chosen")).to_contain_text("4")


def test_everything_but_drawing_works_without_scripts(walks: World, open_page: Open):
    page = open_page(java_script_enabled=False)
    sign_in(page, "ada", then="/campaigns/walks/review/")
    page.get_by_role("link", name="two dogs").click()
    page.get_by_role("button", name="Keep as one chain").click()
    expect(page.get_by_role("status")).to_contain_text("Ruling saved")
    page.goto(f"{IMAGE}?chain=2")
    page.get_by_text("Set its boxes").click()
    page.get_by_label("One box per line").fill("10 10 50 50")
    page.get_by_role("button", name="Save boxes").click()
    assert chain(2, walks)["b"] == [[10, 10, 50, 50]]
    page.goto("/campaigns/walks/")
    page.get_by_label("Reason").fill("lunch")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("paused", exact=True)).to_be_visible()
    assert Campaign.objects.get().state == Campaign.PAUSED


def test_a_jobs_progress_comes_without_a_reload(walks: World, open_page: Open):
    page = open_page()
    sign_in(page, then="/campaigns/walks/jobs/")
    page.evaluate("window.stayed = true")
    expect(page.get_by_role("cell", name="queued")).to_be_visible()
    Job.objects.update(state=Job.RUNNING, share=0.4, phase="writing images")
    expect(page.get_by_text("40 %, writing images")).to_be_visible()
    Job.objects.update(state=Job.DONE, share=1.0)
    expect(page.get_by_role("cell", name="done", exact=True)).to_be_visible()
    expect(page.locator("[data-live='on']")).to_have_count(0)
    assert page.evaluate("window.stayed") is True


def test_the_box_of_a_control_item_is_drawn(walks: World, open_page: Open):
    page = open_page()
    sign_in(page)
    page.goto("/campaigns/walks/control-items/new/?image=scene-1&kind=box_quality")
    page.get_by_label("two dogs").check()
    drag(page, (0.5, 0.5), (0.9, 0.9))
    page.locator("#pending + .boxlist").get_by_role("button", name="Add the drawn box").click()
    page.get_by_label("bad", exact=True).check()
    page.get_by_role("button", name="Add item").click()
    expect(page.get_by_role("status")).to_contain_text("Control item added")
    assert near(Control.objects.get().content["pending"], (241, 181, 432, 324))


def test_phrases_are_mended_by_keys(walks: World, open_page: Open) -> None:
    """A reviewer gives a phrase one word less, previews what that asks again, and saves it."""
    page = open_page()
    sign_in(page, "rev", then=f"{IMAGE}phrases/")
    two = page.get_by_role("group", name="Caption 1").get_by_role("button", name="two", exact=True)
    two.focus()
    page.keyboard.press("Delete")
    for key in ("ArrowRight", "Enter", "Enter"):  # "dogs" only
        page.keyboard.press(key)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="What this would ask again")).to_be_visible()
    for_everybody(page)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Phrases saved")).to_be_visible()
    row = OpenImage.objects.get(campaign__name="walks", image__key="scene-1")
    assert "0:4-5" in {mention_from(fields).id for fields in row.mentions}
