"""Jobs and exports on pages, and the texts that workers read."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation import instructions, jobs
from annotation.datasets import layer_rows
from annotation.datasets.importing import import_corpus
from annotation.models import Campaign, Image, Instructions, Job, Layer, OpenImage
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import as_toml, settings_of
from tests.factories import some_images
from tests.queue.world import World
from tests.web import world as people
from tests.web.staff import answered, forms, messages_on, press, words

pytestmark = pytest.mark.django_db

JOBS = "/campaigns/quay/jobs/"


def download(client):
    """Return the file of the only job."""
    return client.get(reverse("operation_file", args=["download_export"]), {"job": Job.objects.get().pk})


@pytest.fixture
def world(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    world = answered()
    layer_rows.refresh_layer_rows(world.campaign)
    return world


@pytest.fixture
def ada():
    return people.signed_in("ada", "researcher")


def test_an_export_is_asked_for_made_and_fetched_by_page(world, ada, tmp_path):
    page = press(ada, JOBS, "Export", format="entities")
    assert messages_on(page) == ["Building the export. It will appear here."]
    assert "Export the dataset of a campaign entities queued" in words(page)
    assert 'data-live="on"' in page.content.decode()
    job = Job.objects.get()
    assert jobs.run_queued_job(job.pk) == Job.DONE
    page = ada.get(JOBS)
    assert "Download" in words(page) and job.kind and "SHA-256" in words(page)
    assert "layer is unchecked at links, verification" in words(page)
    assert "Unchecked: there are no gold answers to coref_link, chain_verification" in words(page)
    assert "Not in the files: the place of 1 image in the order of the corpus." in words(page)
    assert f'href="{reverse("control_item_list", args=["quay"])}"' in page.content.decode()
    assert 'data-live="on"' not in page.content.decode()
    answer = download(ada)
    assert answer["Content-Disposition"].startswith("attachment")
    with zipfile.ZipFile(BytesIO(b"".join(answer))) as archive:
        assert "Sentences/1000.txt" in archive.namelist()
        assert archive.read("NOTES.md").startswith(b"Unchecked: there are no gold answers to coref_link")
        archive.extractall(tmp_path / "fetched")
    assert import_corpus(name="again", path=tmp_path / "fetched", format="entities").images == 2
    (note,) = Job.objects.get().result["notes"]
    assert "coref_link, chain_verification" in note


def test_behind_a_proxy_the_proxy_sends_the_download(world, ada, settings):
    settings.PICTURE_PROXY_PREFIX = "/inside"
    press(ada, JOBS, "Export", format="jsonl")
    jobs.run_queued_job(Job.objects.get().pk)
    answer = download(ada)
    assert answer["X-Accel-Redirect"].startswith("/inside/exports/quay-quay-jsonl-")
    assert answer.content == b""


def test_a_download_is_for_those_who_run_the_campaign_that_made_it(world, ada):
    press(ada, JOBS, "Export", format="jsonl")
    assert download(ada).status_code == 404
    jobs.run_queued_job(Job.objects.get().pk)
    assert download(people.signed_in("rev", "reviewer")).status_code == 403
    assert download(ada).status_code == 200


def test_an_export_that_is_no_longer_kept_says_so(world, ada, settings):
    press(ada, JOBS, "Export", format="jsonl")
    jobs.run_queued_job(Job.objects.get().pk)
    for file in (settings.DATA_DIR / "exports").iterdir():
        file.unlink()
    assert "no longer available" in words(ada.get(JOBS))
    gone = download(ada)
    assert gone.status_code == 409 and "no longer exists; export it again" in words(gone)


def test_a_job_that_fails_says_why_and_can_be_gone_on_with(world, ada):
    world = World(some_images(1), name="open-still")
    world.submit(0, world.held(0), then=False)
    layer_rows.refresh_layer_rows(world.campaign)
    address = "/campaigns/open-still/jobs/"
    # Invalid input is reported before there is a job; later errors, by the job.
    response = press(ada, address, "Export", format="jsonl")
    assert "unfinished" in words(response) and not Job.objects.exists()
    press(ada, address, "Export", format="jsonl", unfinished="include")
    name = Layer.objects.filter(name="open-still")
    name.update(name="gone")
    assert jobs.run_queued_job(Job.objects.get().pk) == Job.FAILED
    page = ada.get(address)
    assert "failed" in words(page) and "unknown layer" in words(page)
    assert messages_on(press(ada, address, "Resume")) == ["Job resumed from where it stopped."]
    assert Job.objects.get().state == Job.QUEUED


@pytest.mark.parametrize(
    ("form_data", "why"),
    [
        ({"format": "jsonl", "pictures": "on"}, "has no pictures"),
        ({"format": "csv"}, "has no caption, and csv cannot store that"),
        ({"format": "entities"}, "is in split “dev”"),
    ],
    ids=str,
)
def test_what_an_export_cannot_do_is_told_before_there_is_a_job(world, ada, form_data, why):
    first, second = world.corpus.images.order_by("position")
    if form_data["format"] == "csv":
        first.captions.all().delete()
    elif form_data["format"] == "entities":
        Image.objects.filter(pk=second.pk).update(split="dev")
    page = press(ada, JOBS, "Export", **form_data)
    assert why in words(page) and not Job.objects.exists()


def test_jobs_and_what_an_export_lacks_are_told_in_the_language_of_the_page(world, ada):
    jobs.enqueue(kind="refresh_layer", arguments={"campaign": world.campaign.name}, campaign=world.campaign)
    OpenImage.objects.update(complete=False)
    form_data = {"campaign": "quay", "format": "jsonl"}
    german = {"Accept-Language": "de"}
    page = ada.post(reverse("operation", args=["export_campaign"]), form_data, headers=german)
    assert "Ebene „quay“ ist unfertig" in words(page)
    assert "Ebene einer Kampagne aktualisieren" in words(ada.get(JOBS, headers=german))


def test_a_job_is_cancelled_by_page(world, ada):
    press(ada, JOBS, "Export", format="jsonl")
    page = press(ada, JOBS, "Cancel")
    assert "cancelled" in words(page)
    assert Job.objects.get().state == Job.CANCELLED
    late = ada.post(reverse("operation", args=["cancel_job"]), {"job": Job.objects.get().pk})
    assert late.status_code == 409 and "only queued and running ones" in words(late)


def test_progress_and_what_is_left_are_told(world, ada):
    press(ada, JOBS, "Update it now")
    job = Job.objects.get()
    Job.objects.update(state=Job.RUNNING, share=0.25, phase="writing images", started_at=job.created_at)
    page = ada.get(JOBS)
    assert "25 %, writing images" in words(page)
    assert 'value="25"' in page.content.decode()


def test_the_same_export_asked_for_twice_is_one_job(world, ada):
    for _ in range(2):
        press(ada, JOBS, "Export", format="jsonl")
    assert Job.objects.count() == 1


OPENING = {"split": "train", "images": 20, "tags": [], "known": "import"}


def a_draft(world, state=Job.DONE, **arguments):
    """Make a draft whose images were requested with these arguments; by nobody if there are none."""
    draft = Campaign.objects.create(
        name="draft", corpus=world.corpus, tasks="entities", settings=world.campaign.settings
    )
    if arguments:
        Job.objects.create(kind="open_images", campaign=draft, arguments=arguments, state=state)
    return draft


def start(client, name="draft"):
    return client.post(reverse("operation", args=["open_draft"]), {"campaign": name}, follow=True)


@pytest.mark.parametrize("state", [Job.FAILED, Job.CANCELLED])
def test_a_draft_whose_opening_stopped_is_opened_as_it_was_asked_for(ada, world, state):
    a_draft(world, state, **OPENING)
    page = ada.get("/campaigns/draft/jobs/")
    assert "Open the images" not in words(page) and "Resume the job that opens them" in words(page)
    start(ada)  # a call without the button opens nothing else either
    (job,) = Job.objects.all()
    assert (job.state, job.arguments) == (Job.QUEUED, OPENING)


def test_a_draft_whose_images_are_open_is_opened_as_it_was_asked_for(ada, world):
    a_draft(world, Job.DONE, **OPENING, begin=False)
    press(ada, "/campaigns/draft/jobs/", "Open the images")
    assert Job.objects.latest("pk").arguments == OPENING


def test_a_draft_that_nobody_chose_images_for_is_not_opened(ada, world):
    a_draft(world)
    page = ada.get("/campaigns/draft/jobs/")
    assert "Open the images" not in words(page)
    assert "Nobody has chosen the images of this campaign" in words(page)
    assert "Nobody has chosen the images of this campaign" in words(start(ada))
    assert not Job.objects.exists()


def test_a_running_pilot_gets_no_more_images_by_the_opening_of_drafts(ada, world):
    Campaign.objects.update(pilot={"split": None, "images": None, "tags": []})
    Job.objects.create(kind="open_images", campaign=world.campaign, arguments=OPENING, state=Job.DONE)
    assert "The images of this campaign are open already." in words(start(ada, "quay"))
    assert Job.objects.count() == 1


def test_a_running_pilot_is_not_opened_again_by_its_name(ada, world, tmp_path):
    Campaign.objects.update(pilot={"split": None, "images": None, "tags": []}, open_to_all=False)
    plan = {"name": "quay", "corpus": world.corpus.name, "tasks": "entities"}
    settings = as_toml(settings_of(world.campaign.settings))
    form_data = {**plan, "campaign_settings": settings, "unpaid": "on"}
    page = ada.post(reverse("operation", args=["open_campaign"]), form_data)
    assert page.status_code == 409 and "is a pilot: continue with all its images" in words(page)
    body = {**plan, "campaign_settings": world.campaign.settings, "unpaid": True}
    answer = ada.post("/api/v1/campaigns", body, content_type="application/json")
    assert answer.status_code == 409 and "is a pilot" in answer.json()["detail"]
    with pytest.raises(CommandError, match="“quay” is a pilot: continue with all its images"):
        (tmp_path / "own.toml").write_text(settings)
        call_command(
            *("open_campaign", "quay", "--corpus", world.corpus.name, "--tasks", "entities"),
            *("--campaign-settings", str(tmp_path / "own.toml"), "--open-to-all", "--unpaid"),
        )
    assert not Campaign.objects.get().open_to_all
    assert not Job.objects.exists()


def test_a_text_is_published_as_a_new_version_by_page(world, ada):
    address = reverse("text", args=["quay", q.COREF_LINK])
    page = press(ada, address, "Publish as a new version", text="Say yes.\n\nGood: a man, the man: yes.")
    assert messages_on(page) == ["Published: workers now read version 1."]
    assert instructions.current_text(campaign=world.campaign, kind=q.COREF_LINK).text.startswith("Say yes.")
    assert "Version 1" in words(page) and str(Instructions.objects.get().created_by) == "ada"
    again = press(ada, address, "Publish as a new version")
    assert (
        messages_on(again) == ["The text is the same as before; nothing was published."]
        and Instructions.objects.count() == 1
    )


def test_instructions_cannot_be_empty_but_a_consent_text_can(world, ada):
    response = press(ada, reverse("text", args=["quay", q.COREF_LINK]), "Publish as a new version", text=" ")
    assert response.status_code == 409 and "are empty" in words(response)
    page = press(ada, reverse("texts", args=["quay"]), "Publish as a new version", text="")
    assert messages_on(page) == ["Published: workers now read version 1."]
    assert "0 workers agreed to the newest one" in words(page)


def test_what_is_typed_is_kept_where_it_is_too_long(world, ada):
    page = press(
        ada, reverse("text", args=["quay", q.COREF_LINK]), "Publish as a new version", text="long " * 5000
    )
    assert page.status_code == 400 and "at most 20000 characters" in words(page)
    (form,) = [form for form in forms(page) if "text" in form.fields]
    assert form.fields["text"] == ["long " * 5000]
