"""A corpus uploaded in a browser: a zip of forty pictures is selected, sent, checked, and imported without
errors; an interrupted connection resumes; files can be dropped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Page, Request, Route, expect

from annotation import campaigns, jobs
from annotation.datasets import uploads
from annotation.models import Corpus, Job, OpenImage
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import for_everybody
from tests.intake.uploading import SOUND, forty, zipped
from tests.web import world as people


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    file = tmp_path / "forty.zip"
    file.write_bytes(zipped(forty()))
    return file


@pytest.fixture
def ada(transactional_db: None, tmp_path: Path, settings, open_page: Open, monkeypatch) -> Page:
    """A researcher on the page that adds a corpus; parts are small, so that there are several."""
    settings.DATA_DIR = tmp_path / "data"
    monkeypatch.setattr(uploads, "PART_BYTES", 5_000)
    people.account("ada", "researcher")
    page = open_page(faults=True)
    sign_in(page, "ada", then="/uploads/")
    return page


def done(kind: str) -> None:
    """Run the job that the page requested."""
    assert jobs.run_queued_job(Job.objects.get(kind=kind, state=Job.QUEUED).pk) == Job.DONE


def test_forty_pictures_in_a_zip_become_a_corpus_without_the_three_that_are_wrong(ada: Page, packed: Path):
    for_everybody(ada)
    ada.get_by_label("Name of the corpus").fill("forty")
    expect(ada.get_by_role("button", name="Send and check")).to_be_disabled()
    ada.locator("#files").set_input_files(packed)
    expect(ada.get_by_text("Files: 1, ")).to_be_visible()
    # The second part is lost once, and sent again automatically.
    lost: list[str] = []

    def lose_one(route: Route) -> None:
        if _offset(route.request) == 5_000 and not lost:
            lost.append(route.request.url)
            route.abort("connectionreset")
        else:
            route.continue_()

    ada.route("**/files/0", lose_one)
    ada.get_by_role("button", name="Send and check").click()
    expect(ada.get_by_text("The connection is lost. Trying again in 1 s")).to_be_visible()
    expect(ada.get_by_role("heading", name="Progress")).to_be_visible()
    assert lost
    done("check_upload")
    expect(ada.get_by_text("2 problems", exact=True)).to_be_visible()
    for_everybody(ada)
    problems = ada.locator("table.problems")
    for name in ("p07.jpg", "p21.jpg"):
        row = problems.get_by_role("row").filter(has_text=name)
        expect(row.filter(has_text="corrupt picture")).to_be_visible()
    # Pictures without captions must be confirmed.
    expect(ada.get_by_text("1 without a caption (")).to_contain_text("p39.jpg")
    expect(ada.locator(".preview > li")).to_have_count(20)
    ada.get_by_label("Ignore 1 unused thing").check()
    ada.get_by_role("button", name="Import, skipping these 2").click()
    expect(ada.get_by_role("heading", name="Progress")).to_be_visible()
    done("import_upload")
    ada.wait_for_url("**/corpora/forty/")
    expect(ada.get_by_role("heading", name="forty")).to_be_visible()
    expect(ada.locator("#main")).to_contain_text(f"{SOUND} images")
    assert Corpus.objects.get().image_count == SOUND


def test_an_upload_that_was_left_goes_on_with_the_same_file(ada: Page, packed: Path):
    ada.get_by_label("Name of the corpus").fill("forty")
    ada.locator("#files").set_input_files(packed)
    ada.route("**/files/0", lambda route: _continued(route, below=10_000))
    ada.get_by_role("button", name="Send and check").click()
    expect(ada.get_by_text("The connection is lost.")).to_be_visible()
    ada.once("dialog", lambda dialog: dialog.accept())
    ada.goto("/uploads/")
    ada.unroute("**/files/0")  # sooner, the page that is left would try again
    ada.get_by_role("link", name="forty").click()
    for_everybody(ada)
    first: list[int] = []

    def record(route: Route) -> None:
        first.append(_offset(route.request))
        route.continue_()

    ada.route("**/files/0", record)
    ada.locator("#files").set_input_files(packed)
    ada.get_by_role("button", name="Resume sending").click()
    expect(ada.get_by_role("heading", name="Progress")).to_be_visible()
    assert first[0] == 10_000
    upload = uploads.uploads_of(people.Account.objects.get())[0]
    assert upload.file_path(0).read_bytes() == packed.read_bytes()


def test_a_session_that_ends_stops_the_upload_and_says_so(ada: Page, packed: Path):
    ada.get_by_label("Name of the corpus").fill("forty")
    ada.locator("#files").set_input_files(packed)
    questions: list[int] = []

    def sign_out(route: Route) -> None:
        questions.append(_offset(route.request))
        if questions[-1] == 5_000:
            ada.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
        route.continue_()

    ada.route("**/files/0", sign_out)
    ada.get_by_role("button", name="Send and check").click()
    expect(
        ada.get_by_text("You are no longer signed in. Sign in again, then choose the same")
    ).to_be_visible()
    assert questions[-1] <= 10_000 and len(questions) == len(set(questions))
    expect(ada.get_by_role("button", name="Send and check")).to_be_enabled()
    ada.unroute("**/files/0")
    sign_in(ada, "ada", then="/uploads/")
    ada.get_by_label("Name of the corpus").fill("forty")
    ada.locator("#files").set_input_files(packed)
    ada.get_by_role("button", name="Send and check").click()
    expect(ada.get_by_role("heading", name="Progress")).to_be_visible()
    (upload,) = uploads.uploads_of(people.Account.objects.get())
    assert upload.file_path(0).read_bytes() == packed.read_bytes()


def test_files_that_are_dropped_are_sent_like_those_that_are_chosen(ada: Page):
    """As a new corpus, then for its open campaign."""
    ada.get_by_label("Name of the corpus").fill("dropped")
    drop(ada, "a")
    expect(ada.get_by_text("Files: 1, ")).to_be_visible()
    ada.get_by_role("button", name="Send and check").click()
    expect(ada.get_by_role("heading", name="Progress")).to_be_visible()
    done("check_upload")
    ada.get_by_role("button", name="Import", exact=True).click()
    expect(ada.get_by_role("heading", name="Progress")).to_be_visible()
    done("import_upload")
    ada.wait_for_url("**/corpora/dropped/")
    plan = campaigns.CampaignPlan(name="writing", corpus="dropped", tasks="captions")
    campaigns.open_campaign(plan)
    ada.goto("/corpora/dropped/manage/")
    ada.get_by_role("link", name="Add images").click()
    for_everybody(ada)
    drop(ada, "b")
    ada.get_by_role("button", name="Send and check").click()
    expect(ada.get_by_role("heading", name="Progress")).to_be_visible()
    done("check_upload")
    ada.get_by_label("Campaign “writing” asks about them").check()
    for_everybody(ada)
    ada.get_by_role("button", name="Import", exact=True).click()
    expect(ada.get_by_role("heading", name="Progress")).to_be_visible()
    done("import_upload")
    ada.wait_for_url("**/corpora/dropped/")
    assert list(OpenImage.objects.order_by("position").values_list("image__key", flat=True)) == ["a", "b"]


def drop(page: Page, image: str) -> None:
    """Drop a file of captions with one of this image."""
    data = page.evaluate_handle(
        """image => {
            const data = new DataTransfer();
            data.items.add(new File([`${image}.jpg#0\\tA dog is in the park .\\n`], "captions.token.txt"));
            return data;
        }""",
        image,
    )
    page.locator("[data-drop]").dispatch_event("drop", {"dataTransfer": data})


def _offset(request: Request) -> int:
    """Return the offset of the part that a request sends; -1 if it sends none."""
    match = re.search(rb'name="offset"\s+(\d+)', request.post_data_buffer or b"")
    return int(match[1]) if match else -1


def _continued(route: Route, *, below: int) -> None:
    """Let parts through that begin before `below`."""
    if _offset(route.request) >= below:
        route.abort()
    else:
        route.continue_()
