"""From pictures to published captions by pages, by the API and by commands: the same decisions make the same
corpus, byte by byte.

Files of captions are compared as they are: they hold neither names of accounts nor times. Dataset cards and
datasheets hold the name of corpus and campaign, which is replaced, and the seconds of answers, which are set.
"""

from __future__ import annotations

import io
import json
import re
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation import jobs
from annotation.models import Account, Assignment, Campaign, Corpus, Job, Judgment
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.web.annotator.task_texts import READ
from tests.api.v1.conftest import Caller
from tests.intake.uploading import a_picture, zipped
from tests.web import world as people
from tests.web.desk import hidden
from tests.web.staff import messages_on, press
from tests.web.test_from_nothing import arrived
from tests.web.test_uploads import send, whole

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

#: The pictures of the import, and of the delivery while people write.
FIRST = {f"train/p{n}.jpg": a_picture(n) for n in range(4)}
LATER = {f"test/p{n}.jpg": a_picture(n) for n in range(4, 6)}
CAPTIONS, REASON = 5, "This is not in the picture."
#: The rejected captions: the number of the writer, and the picture.
REJECTED = ((1, "p0"), (3, "p5"))
FORMATS = ("csv", "jsonl")
#: Nobody is tested first.
SETTINGS = "[trust]\nqualification = false\n"
_LINK = re.compile(r"/invite/[^\s\"<]+/")


def run_jobs() -> None:
    for job in Job.objects.filter(state=Job.QUEUED).order_by("pk"):
        assert jobs.run_queued_job(job.pk) == Job.DONE, Job.objects.get(pk=job.pk).error


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name.rpartition("/")[2]: archive.read(name) for name in archive.namelist()}


class ByPage:
    """A researcher's pages, and the pages of the writers."""

    def __init__(self, folder: Path, ada: Client) -> None:
        self.folder, self.ada, self.name = folder, ada, type(self).__name__.lower()

    def brings(self, files: dict[str, bytes], *, add: bool) -> None:
        page = whole(self.ada, {"pictures.zip": zipped(files)}, self.name, add=add)
        press(self.ada, page, "Check", also="_upload")
        run_jobs()
        press(self.ada, page, "Import", also="_upload", **({"campaigns": [self.name]} if add else {}))
        run_jobs()

    def opens(self) -> None:
        about = {"name": self.name, "corpus": self.name, "tasks": "captions", "unpaid": "on"}
        about["campaign_settings"] = SETTINGS
        press(self.ada, reverse("operation", args=["open_campaign"]), "Open a campaign", **about)
        run_jobs()

    def link(self) -> str:
        entry = reverse("entry", args=[self.name])
        press(self.ada, entry, "Create a link")
        return _LINK.findall(self.ada.get(entry).content.decode())[0]

    def writes(self, writer: Client, text: Callable[[int], str]) -> int:
        session: Any = writer.session
        session[READ] = {f"{Campaign.objects.get(name=self.name).pk}:{CAPTION_WRITING}": 1}
        session.save()
        task, number = reverse("task", args=[self.name, CAPTION_WRITING]), 0
        while b"data-answer" in (page := writer.get(task)).content:
            fields = hidden(page)
            sent = {**fields, "answer": "written", "text": text(int(fields["assignment"]))}
            assert writer.post(task, sent).status_code == 303
            number += 1
        return number

    def reviews(self, decision: str, answers: list[int]) -> None:
        about = {"campaign": self.name, "decision": decision, "answers": answers}
        if decision == "rejected":
            about["reason"] = REASON
        about["next"] = reverse("answers", args=[self.name])
        page = self.ada.post(reverse("operation", args=["review_answers"]), about, follow=True)
        assert f"{len(answers)} answers reviewed" in messages_on(page)[0]

    def publishes(self) -> None:
        about = {"name": f"{self.name}-described", "least": str(CAPTIONS), "reviewed": "on"}
        press(self.ada, reverse("jobs", args=[self.name]), "Publish", **about)
        run_jobs()

    def exports(self, format: str) -> dict[str, bytes]:
        address = f"{reverse('operation', args=['export_dataset'])}?corpus={self.name}-described"
        press(self.ada, address, "Export a corpus with a layer", format=format)
        run_jobs()
        job = Job.objects.filter(kind="export_dataset").latest("pk")
        about = {"job": str(job.pk)}
        response = self.ada.get(reverse("operation_file", args=["download_export"]), about)
        return unzipped(b"".join(response.streaming_content))  # type: ignore[attr-defined]


class ByApi(ByPage):
    """Calls of the API; the writers' by that of tasks."""

    def __init__(self, folder: Path, ada: Client) -> None:
        super().__init__(folder, ada)
        self.caller = Caller(Account.objects.get(username="ada"))

    def call(self, path: str, body: Any) -> Any:
        answer = self.caller.post(path, body)
        assert answer.status_code < 300, answer.content
        run_jobs()
        return answer.json()

    def brings(self, files: dict[str, bytes], *, add: bool) -> None:
        content = zipped(files)
        announced = [{"path": "pictures.zip", "size": len(content)}]
        upload = self.call("uploads", {"name": self.name, "files": announced, "add": add})
        send(self.caller.client, f"/uploads/{upload['key']}/", 0, content)
        self.call(f"uploads/{upload['key']}/check", {})
        self.call(f"uploads/{upload['key']}/import", {"campaigns": [self.name]} if add else {})

    def opens(self) -> None:
        about = {"name": self.name, "corpus": self.name, "tasks": "captions", "unpaid": True}
        self.call("campaigns", {**about, "campaign_settings": tomllib.loads(SETTINGS)})

    def link(self) -> str:
        made: str = self.call(f"campaigns/{self.name}/invitations", {"label": "writers"})["address"]
        return _LINK.search(made)[0]  # type: ignore[index]

    def writes(self, writer: Client, text: Callable[[int], str]) -> int:
        about = {"campaign": self.name, "kind": CAPTION_WRITING}
        task, number = self._sent(writer, "tasks/next", about), 0
        while "nothing" not in task:
            answer = {"answer": "written", "text": text(task["id"]), "token": f"t{task['id']}", "next": True}
            task = self._sent(writer, f"assignments/{task['id']}/answer", answer)["next"]
            number += 1
        return number

    def _sent(self, writer: Client, path: str, body: Any) -> Any:
        answer = writer.post(f"/api/{path}", json.dumps(body), content_type="application/json")
        assert answer.status_code == 200, answer.content
        return answer.json()

    def reviews(self, decision: str, answers: list[int]) -> None:
        reason = {"reason": REASON} if decision == "rejected" else {}
        about = {"answers": answers, "decision": decision, **reason}
        self.call(f"campaigns/{self.name}/answers/reviews", about)

    def publishes(self) -> None:
        about = {"name": f"{self.name}-described", "least": CAPTIONS, "reviewed": True}
        self.call(f"campaigns/{self.name}/corpora", about)

    def exports(self, format: str) -> dict[str, bytes]:
        job = self.call(f"corpora/{self.name}-described/exports", {"format": format})
        response = self.caller.get(f"jobs/{job['number']}/download")
        return unzipped(b"".join(response.streaming_content))


class ByCommand(ByApi):
    """Commands; what people write comes by the API of tasks."""

    def brings(self, files: dict[str, bytes], *, add: bool) -> None:
        archive = self.folder / "pictures.zip"
        archive.write_bytes(zipped(files))
        options: dict[str, Any] = {"add": True, "campaigns": [self.name]} if add else {}
        call_command("import_corpus", self.name, archive, format="pictures", verbosity=0, **options)

    def opens(self) -> None:
        (file := self.folder / "settings.toml").write_text(SETTINGS)
        about: dict[str, Any] = {"corpus": self.name, "tasks": "captions", "campaign_settings": file}
        call_command("open_campaign", self.name, unpaid=True, verbosity=0, **about)

    def link(self) -> str:
        printed = io.StringIO()
        call_command("make_invitation", self.name, label="writers", stdout=printed)
        return _LINK.search(printed.getvalue())[0]  # type: ignore[index]

    def reviews(self, decision: str, answers: list[int]) -> None:
        reason = {"reason": REASON} if decision == "rejected" else {}
        call_command("review_answers", self.name, answers=answers, decision=decision, verbosity=0, **reason)

    def publishes(self) -> None:
        name = f"{self.name}-described"
        call_command("publish_captions", self.name, name, least=CAPTIONS, reviewed=True, verbosity=0)

    def exports(self, format: str) -> dict[str, bytes]:
        out = self.folder / format
        call_command("export_dataset", f"{self.name}-described", format=format, out=out, verbosity=0)
        return {file.name: file.read_bytes() for file in out.iterdir()}


def of_answer(number: int, picture: str) -> int:
    """Return the number of a writer's answer about a picture of the campaign that is worked on."""
    campaign = Campaign.objects.latest("pk")
    of_picture = Judgment.objects.filter(image__campaign=campaign, image__image__key=picture)
    return of_picture.order_by("pk").values_list("pk", flat=True)[number]


def decided(way: ByPage) -> dict[str, bytes]:
    """Take all decisions in one way; return the exported files, by format and name."""
    way.brings(FIRST, add=False)
    way.opens()
    link = way.link()
    writers = [arrived(link) for _ in range(CAPTIONS + 1)]

    def write(number: int) -> int:
        def text(assignment: int) -> str:
            image = Assignment.objects.values_list("task__image__image__key", flat=True).get(pk=assignment)
            return f"Writer {'ABCDEF'[number]} sees what there is in picture {image[1:]}, from here."

        return way.writes(writers[number], text)

    assert [write(number) for number in range(CAPTIONS - 1)] == [4] * (CAPTIONS - 1)
    way.brings(LATER, add=True)
    assert [write(number) for number in range(CAPTIONS)] == [2] * (CAPTIONS - 1) + [6]
    way.reviews("rejected", [of_answer(*rejected) for rejected in REJECTED])
    # Nobody describes a picture twice: only a sixth person can replace them.
    assert [write(number) for number in range(CAPTIONS + 1)] == [0] * CAPTIONS + [len(REJECTED)]
    valid = Judgment.objects.filter(image__campaign__name=way.name, withdrawn=False)
    way.reviews("accepted", list(valid.order_by("pk").values_list("pk", flat=True)))
    # The clock measured these.
    Assignment.objects.filter(campaign__name=way.name).update(seconds=20.0)
    way.publishes()
    return {
        f"{format}/{file}": content for format in FORMATS for file, content in way.exports(format).items()
    }


def test_pages_api_and_commands_make_the_same_corpus_byte_by_byte(tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path / "data"
    ada = people.signed_in("ada", "researcher")
    files = {way: decided(way(tmp_path, ada)) for way in (ByPage, ByApi, ByCommand)}
    by_page = files[ByPage]
    rows = by_page["csv/captions.csv"].decode().splitlines()
    assert len(rows) == 1 + CAPTIONS * (len(FIRST) + len(LATER))
    assert sum("Writer F" in row for row in rows) == len(REJECTED)
    assert {"csv/captions.csv", "jsonl/corpus.jsonl"} == {name for name in by_page if not _says_names(name)}
    for way, made in files.items():
        # Captions as they are, and what is said of them in a canonical form.
        assert {name: _canonical(name, content, way) for name, content in made.items()} == {
            name: _canonical(name, content, ByPage) for name, content in by_page.items()
        }
    assert len(set(Corpus.objects.filter(name__endswith="-described").values_list("digest", flat=True))) == 1


def _says_names(file: str) -> bool:
    return file.endswith(("README.md", "datasheet.json"))


def _canonical(name: str, content: bytes, way: type) -> bytes:
    """Return a file; in cards and datasheets the name of corpus and campaign is replaced."""
    if not _says_names(name):
        return content
    return content.replace(way.__name__.lower().encode(), b"NAME")
