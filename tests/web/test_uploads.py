"""A corpus uploaded on pages: begun, sent in parts, checked, imported; other users' uploads are invisible."""

from __future__ import annotations

import errno
import hashlib
import html
import json
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from PIL import Image as Pillow

from annotation import campaigns, jobs
from annotation.datasets import uploaded_source, uploads
from annotation.datasets.importing import import_records
from annotation.datasets.source_problems import IntakeError
from annotation.datasets.uploaded_source import check_upload, import_upload
from annotation.datasets.uploads import stored_upload
from annotation.models import Account, AuditEntry, Corpus, Job, OpenImage
from evaluation.models import System
from phrasebox.text_files import FormatError
from tests.factories import some_images
from tests.intake.uploading import SOUND, a_picture, forty, zipped
from tests.queue.world import TRUSTING
from tests.web import world
from tests.web.staff import messages_on, press, words

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings) -> None:
    settings.DATA_DIR = tmp_path / "data"


@pytest.fixture
def ada() -> Client:
    return world.signed_in("ada", "researcher")


UPLOADS = "/api/v1/uploads"


def begin(client: Client, files: dict[str, bytes], name: str = "mine", *, add: bool = False) -> str:
    """Begin an upload; return the address of its page."""
    announced = [{"path": path, "size": len(content)} for path, content in files.items()]
    body = {"name": name, "files": announced, "add": add}
    key = client.post(UPLOADS, json.dumps(body), content_type="application/json").json()["key"]
    return reverse("upload", args=[key])


def stored(client: Client, page: str) -> Any:
    return client.get(f"{UPLOADS}/{page.split('/')[2]}")


def send(client: Client, page: str, number: int, data: bytes, offset: int = 0, *, sha256: str = "") -> Any:
    part = {
        "offset": offset,
        "sha256": sha256 or hashlib.sha256(data).hexdigest(),
        "part": SimpleUploadedFile("part", data),
    }
    return client.post(f"{UPLOADS}/{page.split('/')[2]}/files/{number}", part)


def whole(
    client: Client, files: dict[str, bytes], name: str = "mine", part: int = 20_000, *, add: bool = False
) -> str:
    """Send files in parts; return the address of the upload's page."""
    page = begin(client, files, name, add=add)
    for number, content in enumerate(files.values()):
        for at in range(0, max(1, len(content)), part):
            assert send(client, page, number, content[at : at + part], at).status_code == 200
    return page


def run_jobs() -> list[str | None]:
    return [jobs.run_queued_job(job.pk) for job in Job.objects.filter(state=Job.QUEUED).order_by("pk")]


def test_a_corpus_is_uploaded_checked_and_imported_by_page(ada: Client):
    assert "Add a corpus" in ada.get(reverse("home")).content.decode()
    page = whole(ada, {"forty.zip": zipped(forty())})
    assert "100 % received" in words(ada.get(page))
    press(ada, page, "Check", also="_upload")
    assert "Check an upload" in words(ada.get(page))
    assert run_jobs() == [Job.DONE]
    text = words(ada.get(page))
    assert f"{SOUND} images are sound, with {2 * SOUND} captions and {SOUND} pictures." in text
    assert "The files read as flickr8k." in text
    assert "2 problems" in text and "corrupt picture: 2" in text
    assert "pictures 40 37 2 with a problem (" in text and "1 without a caption (forty/photos/p39" in text
    assert all(name in text for name in ("photos/p07.jpg", "photos/p21.jpg", "photos/p39.jpg"))
    response = ada.get(
        reverse("operation_file", args=["download_upload_problems"]),
        {"upload": page.rstrip("/").rpartition("/")[2]},
    )
    listed = b"".join(response.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert len([json.loads(line) for line in listed]) == 2
    picture = ada.get(f"{page}preview/0")
    assert picture["Content-Type"] == "image/jpeg"
    picture.close()
    assert ada.get(f"{page}preview/7").status_code == 404
    assert "Found and not used" in words(press(ada, page, "Import, skipping these 2", also="_upload"))
    press(ada, page, "Import, skipping these 2", also="_upload", leave_unused="true")
    assert run_jobs() == [Job.DONE]
    corpus = Corpus.objects.get(name="mine")
    assert corpus.image_count == SOUND
    assert ada.get(page).headers["Location"] == reverse("corpus", args=["mine"])
    assert uploads.uploads_of(world.Account.objects.get(username="ada")) == []
    line = AuditEntry.objects.get(act="import_corpus")
    assert (line.actor_name, line.about["corpus"], line.about["skipped"]) == ("ada", "mine", 2)


def test_the_command_lists_what_the_page_lists(ada: Client, tmp_path: Path):
    from annotation.datasets.importing import import_corpus
    from annotation.datasets.intake import ImportHow

    packed = zipped(forty())
    page = whole(ada, {"forty.zip": packed})
    press(ada, page, "Check", also="_upload")
    run_jobs()
    (tmp_path / "forty.zip").write_bytes(packed)
    how = ImportHow(dry_run=True)
    by_command = import_corpus(name="other", path=tmp_path / "forty.zip", format="flickr8k", how=how).problems
    by_page = Job.objects.get(kind="check_upload").result["problems"]

    def message(sort: str, file: str, line: int | None, what: str) -> tuple[str, str, int | None, str]:
        return sort, Path(file).name, line, what.replace("forty/", "")

    assert {message(p["sort"], p["file"], p["line"], p["what"]) for p in by_page} == {
        message(p.sort, p.file, p.line, p.what) for p in by_command
    }


def test_sound_files_are_imported_as_they_are(ada: Client):
    page = whole(ada, {"captions.token.txt": b"a.jpg#0\tA dog is in the park .\n"})
    press(ada, page, "Check", also="_upload")
    run_jobs()
    text = words(ada.get(page))
    assert "problem" not in text.lower() and "1 image is sound" in text
    press(ada, page, "Import", also="_upload")
    run_jobs()
    assert Corpus.objects.get().caption_count == 1


def test_pictures_alone_are_a_corpus_without_captions(ada: Client):
    picture = BytesIO()
    Pillow.new("RGB", (30, 20)).save(picture, "PNG")
    page = whole(ada, {"train/a.png": picture.getvalue(), "test/b.png": picture.getvalue()})
    press(ada, page, "Check", also="_upload")
    run_jobs()
    text = words(ada.get(page))
    assert "problem" not in text.lower() and "2 images are sound" in text and "read as English" not in text
    press(ada, page, "Import", also="_upload")
    run_jobs()
    corpus = Corpus.objects.get()
    assert (corpus.format, corpus.caption_count) == ("pictures", 0)
    assert list(corpus.images.values_list("filename", "split")) == [
        ("test/b.png", "test"),
        ("train/a.png", "train"),
    ]
    assert ada.get(reverse("corpus", args=["mine"])).status_code == 200


def test_pictures_are_added_to_a_corpus_by_page_and_by_api(ada: Client):
    import_records(name="mine", records=some_images(2, layered=False), format="test", source="a test")
    for name in ("writing", "other"):
        plan = campaigns.CampaignPlan(name=name, corpus="mine", tasks="captions", settings=TRUSTING)
        campaigns.open_campaign(plan)
    sending = ada.get(reverse("uploads"), {"add": "mine"})
    assert (
        f"{reverse('uploads')}?add=mine" in ada.get(reverse("manage_corpus", args=["mine"])).content.decode()
    )
    assert '<input type="hidden" name="add" value="true">' in sending.content.decode()
    page = whole(ada, {"train/a.jpg": a_picture(1), "test/b.jpg": a_picture(2)}, add=True)
    press(ada, page, "Check", also="_upload")
    run_jobs()
    press(ada, page, "Import", also="_upload", campaigns=["writing"])
    assert run_jobs() == [Job.DONE]
    assert ada.get(page).headers["Location"] == reverse("corpus", args=["mine"])
    asked = OpenImage.objects.filter(campaign__name="writing").values_list("image__key", "image__split")
    assert list(asked.order_by("position"))[2:] == [("b", "test"), ("a", "train")]
    assert "added 1 time" in words(ada.get(reverse("manage_corpus", args=["mine"])))

    address = f"{UPLOADS}/{whole(ada, {'c.jpg': a_picture(3)}, add=True).split('/')[2]}"

    def call(act: str, **body: Any) -> Any:
        return ada.post(f"{address}/{act}", json.dumps(body), content_type="application/json")

    assert call("check").status_code == 202 and run_jobs() == [Job.DONE]
    refused = call("import", campaigns=["lacking"])
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "campaigns.0")
    assert call("import", campaigns=["writing", "other"]).status_code == 202 and run_jobs() == [Job.DONE]
    result = Job.objects.latest("pk").result
    assert (result["images"], result["campaigns"]) == (1, {"other": 1, "writing": 1})
    corpus = ada.get("/api/v1/corpora/mine").json()
    assert [added["images"] for added in corpus["added"]] == [2, 1] and corpus["images"] == 5

    assert "is no corpus" in begun_badly(ada, "lacking")
    System.objects.create(corpus=Corpus.objects.get(), name="s", origin="runs")
    assert "takes no further images" in begun_badly(ada, "mine")
    assert "takes no further images" in words(ada.get(reverse("uploads"), {"add": "mine"}))


def begun_badly(client: Client, name: str) -> str:
    """Return why no images can be added to a corpus."""
    body = {"name": name, "files": [{"path": "a.jpg", "size": 1}], "add": True}
    return str(client.post(UPLOADS, json.dumps(body), content_type="application/json").json()["detail"])


def test_what_goes_wrong_in_a_check_is_said_and_another_format_can_be_chosen(ada: Client):
    page = whole(ada, {"notes.txt": b"hello\n"})
    press(ada, page, "Check", also="_upload")
    assert run_jobs() == [Job.FAILED]
    assert "holds no images in a format that is known" in words(ada.get(page))
    press(ada, page, "Check", also="_upload", format="csv")
    assert run_jobs() == [Job.FAILED]
    text = words(ada.get(page))
    assert "expected one file *.csv" in text
    assert "corpus_uploads" not in text and str(settings.DATA_DIR) not in Job.objects.latest("pk").error
    assert "Upload removed." in messages_on(press(ada, page, "Remove this upload"))
    assert ada.get(page).status_code == 404


def test_no_folder_of_the_server_is_named_where_files_cannot_be_read_or_imported(
    ada: Client, monkeypatch: pytest.MonkeyPatch
):
    page = whole(ada, {"captions.token.txt": b"a.jpg#0\tA dog is in the park .\n"})
    upload = stored_upload(page.split("/")[2])

    def broken(**value: Any) -> NoReturn:
        raise OSError(errno.EIO, "Input/output error", str(value["path"] / "captions.token.txt"))

    check_upload(upload, report_progress=lambda phase, share: None)
    monkeypatch.setattr(uploaded_source, "import_corpus", broken)
    for attempt in (
        lambda: check_upload(upload, report_progress=lambda phase, share: None),
        lambda: import_upload(upload, format="flickr8k", skip_problems=False, leave_unused=False),
    ):
        with pytest.raises(IntakeError, match="could not be read: Input/output error; try again later"):
            attempt()
    monkeypatch.undo()
    with pytest.raises(FormatError, match=r"^mine: .*expected one file \*\.csv"):
        import_upload(upload, format="csv", skip_problems=False, leave_unused=False)


def test_other_peoples_uploads_are_not_there(ada: Client):
    content = b"a.jpg#0\tA dog .\n"
    page = begin(ada, {"captions.token.txt": content})
    eve = world.signed_in("eve", "researcher")
    assert send(eve, page, 0, content).status_code == 404
    assert stored(eve, page).status_code == 404
    for way in ("", "preview/0"):
        assert eve.get(page + way).status_code == 404, way
    form_data = {"upload": page.rstrip("/").rpartition("/")[2]}
    for name in ("check_upload", "import_upload", "remove_upload"):
        assert eve.post(reverse("operation", args=[name]), form_data).status_code == 400, name
    problems = reverse("operation_file", args=["download_upload_problems"])
    assert eve.get(problems, form_data).status_code == 404
    assert page not in eve.get(reverse("uploads")).content.decode()
    assert stored(ada, page).json()["received"] == 0
    # Nor is another user's job about it accessible: who knows the key can neither stop nor see it.
    send(ada, page, 0, content)
    ada.post(reverse("operation", args=["check_upload"]), form_data)
    eve.post(reverse("operation", args=["cancel_job"]), {"job": Job.objects.get().pk})
    assert Job.objects.get().state == Job.QUEUED and not Job.objects.get().cancel


def test_parts_say_what_is_wrong_with_them(ada: Client):
    page = begin(ada, {"a.zip": bytes(20), "empty.txt": b""})
    assert send(ada, page, 0, bytes(10)).json() == {"received": 10}
    again = send(ada, page, 0, bytes(10))
    assert (again.status_code, again.json()["code"]) == (409, "refused")
    assert send(ada, page, 0, bytes(10), 10, sha256="0" * 64).status_code == 409
    assert send(ada, page, 0, bytes(10), -1).status_code == 400
    assert send(ada, page, 7, bytes(10)).status_code == 409
    assert send(ada, page, 1, b"").json() == {"received": 0}
    answer = stored(ada, page).json()
    assert answer["part_bytes"] == uploads.PART_BYTES
    assert [(file["size"], file["received"]) for file in answer["files"]] == [(20, 10), (0, 0)]


def test_names_are_escaped_wherever_they_are_shown(ada: Client):
    name = "<img src=x onerror=alert(1)>.token.txt"
    page = whole(ada, {name: b"<b>.jpg#0\tA <script>alert(1)</script> dog .\n<i>\n"})
    press(ada, page, "Check", also="_upload")
    run_jobs()
    text = ada.get(page).content.decode()
    for raw in ("<img src=x", "<script>alert", "<b>.jpg", "'<i>'"):
        assert raw not in text and html.escape(raw, quote=False) in text or raw == "'<i>'"


def test_a_part_needs_the_token_of_the_page():
    account = world.account("ada", "researcher")
    client = Client(enforce_csrf_checks=True)
    client.force_login(account)
    upload = uploads.begin_upload(account=account, name="mine", files=[("a.zip", 4)])
    assert send(client, f"/uploads/{upload.key}/", 0, b"abcd").status_code == 403
    assert [file.received for file in upload.progress()] == [0]


def test_a_role_for_a_corpus_adds_none(tmp_path: Path):
    corpus = world.corpus(tmp_path)
    client = Client()
    account = world.account("bea")
    world.RoleGrant.objects.create(account=account, role="researcher", corpus=corpus)
    client.force_login(account)
    assert client.get(reverse("uploads")).status_code == 403
    assert reverse("uploads") not in client.get(reverse("home")).content.decode()


def test_a_check_of_many_files_keeps_the_first_in_its_result_and_all_in_a_file(ada: Client):
    files = {f"n{n:02}.txt": b"x%d" % n for n in range(60)}
    page = whole(ada, {**files, "captions.token.txt": b"a.jpg#0\tA dog is in the park .\n"})
    press(ada, page, "Check", also="_upload")
    job = Job.objects.get(kind="check_upload")
    assert jobs.run_queued_job(job.pk) == Job.DONE
    job.refresh_from_db()
    assert (len(job.result["sha256"]), job.result["sha256_count"]) == (50, 61)
    (upload,) = uploads.uploads_of(Account.objects.get())
    lines = (upload.folder / "sha256.txt").read_text().splitlines()
    assert len(lines) == 61 and f"{hashlib.sha256(b'x59').hexdigest()}  n59.txt" in lines
    assert "The first 50 of 61 files." in words(ada.get(page))
