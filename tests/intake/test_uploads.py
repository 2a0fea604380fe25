"""Uploads: parts with digests that resume after an interruption, their owner, their expiry, their limits; and
the imports from them."""

from __future__ import annotations

import hashlib
import os
import re
import tarfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from django.test import Client
from django.urls import reverse

from annotation.common.operations import Invalid
from annotation.datasets import uploaded_source, uploads
from annotation.datasets.intake import ImportReport
from annotation.datasets.source_problems import IntakeError, SourceProblems
from annotation.datasets.uploaded_source import CheckedUpload, check_upload, import_upload
from annotation.datasets.uploads import InvalidOffset, NoSuchUpload, Upload, UploadError
from annotation.formats.files.archive import ArchiveLimits
from annotation.models import Account, Corpus, Image, Job
from phrasebox.text_files import FormatError
from tests.api.v1.conftest import Caller
from tests.intake.uploading import SOUND, a_picture, forty, uploaded, zipped
from tests.web.world import account

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(db: None) -> Account:
    return account("ada", "researcher")


def checked(upload: Upload, format: str = "") -> CheckedUpload:
    return check_upload(upload, format=format, report_progress=lambda phase, share: None)


def imported(
    upload: Upload, format: str = "flickr8k", *, skip_problems: bool = False, leave_unused: bool = False
) -> ImportReport:
    return import_upload(upload, format=format, skip_problems=skip_problems, leave_unused=leave_unused)


def brought(upload: Upload) -> ImportReport:
    return imported(upload, checked(upload).format, leave_unused=True)


def part(upload: Upload, data: bytes, offset: int = 0, number: int = 0, sha256: str = "") -> int:
    digest = sha256 or hashlib.sha256(data).hexdigest()
    return uploads.receive_part(upload=upload, number=number, offset=offset, data=data, sha256=digest)


def begun(ada: Account, *sizes: int, name: str = "mine") -> Upload:
    return uploads.begin_upload(
        account=ada, name=name, files=[(f"f{n}.zip", size) for n, size in enumerate(sizes)]
    )


def test_parts_are_written_one_behind_the_other_and_the_whole_is_what_was_sent(ada: Account):
    whole = os.urandom(25_000)
    upload = uploaded(ada, {"a.zip": whole}, part=7_000)
    assert upload.complete and upload.file_path(0).read_bytes() == whole


def test_the_list_of_files_is_read_once_and_not_for_every_part(ada: Account, monkeypatch):
    upload = begun(ada, 20)
    assert uploads.upload_of(ada, upload.key) == upload
    with monkeypatch.context() as patch:
        patch.setattr(uploads.json, "loads", lambda text: pytest.fail("was read again"))
        assert uploads.upload_of(ada, upload.key) == upload
    uploads.remove_upload(upload)
    with pytest.raises(NoSuchUpload):
        uploads.upload_of(ada, upload.key)


def test_a_part_of_an_upload_that_is_removed_meanwhile_is_told_so(
    ada: Account, monkeypatch: pytest.MonkeyPatch
):
    """The moment between looking the upload up and writing the part."""
    upload, free = begun(ada, 4), uploads.free_bytes

    def removed() -> int:
        uploads.remove_upload(upload)
        return free()

    monkeypatch.setattr(uploads, "free_bytes", removed)
    program, digest = Caller(ada), hashlib.sha256(b"part").hexdigest()
    fields = {"offset": 0, "sha256": digest, "part": SimpleUploadedFile("part", b"part")}
    response = program.client.post(f"/api/v1/uploads/{upload.key}/files/0", fields)
    assert (response.status_code, response.json()["code"]) == (404, "unknown")
    assert [item.received for item in upload.progress()] == [0]


def test_the_page_of_an_imported_upload_leads_to_its_corpus_and_says_when_that_is_gone(ada: Account):
    page, upload = Client(), begun(ada, 4)
    page.force_login(ada)
    corpus = Corpus.objects.create(name="mine", format="csv", source="x", published=True)
    Job.objects.create(
        kind="import_upload",
        arguments={"upload": upload.key},
        state=Job.DONE,
        result={"corpus": "mine"},
        created_by=ada,
    )
    address = reverse("upload", args=[upload.key])
    assert page.get(address)["Location"] == reverse("corpus", args=["mine"])
    corpus.delete()
    gone = page.get(address)
    assert gone.status_code == 200 and "has been deleted since" in gone.content.decode()


def test_a_part_that_is_sent_twice_or_too_early_is_told_where_to_go_on(ada: Account):
    upload = begun(ada, 20)
    assert part(upload, b"0123456789") == 10
    for offset in (0, 5, 15):
        with pytest.raises(InvalidOffset) as error:
            part(upload, b"01234", offset)
        assert error.value.received == 10
    assert part(upload, b"abcdefghij", 10) == 20 and upload.complete
    assert upload.file_path(0).read_bytes() == b"0123456789abcdefghij"


def test_an_upload_goes_on_after_being_cut_off(ada: Account):
    whole = os.urandom(30_000)
    upload = begun(ada, len(whole))
    part(upload, whole[:10_000])
    again = begun(ada, len(whole))  # the page was loaded again, and the same file selected
    assert again.key == upload.key
    (file,) = again.progress()
    assert (file.received, file.size) == (10_000, 30_000)
    # The server was killed in the middle of a part: the received bytes count.
    with upload.file_path(0).open("ab") as stream:
        stream.write(whole[10_000:12_345])
    (file,) = begun(ada, len(whole)).progress()
    part(again, whole[file.received :], file.received)
    assert again.complete and again.file_path(0).read_bytes() == whole


@pytest.mark.parametrize(
    ("data", "offset", "sha256", "why"),
    [
        (b"0123456789", 0, "0" * 64, "does not have the SHA-256"),
        (b"0123456789", 0, "nonsense", "does not have the SHA-256"),
        (b"0123456789" * 3, 0, "", "longer than was said"),
        (b"0123456789", 15, "", "longer than was said"),
        (b"x" * (uploads.PART_BYTES + 1), 0, "", "send this one in several"),
    ],
)
def test_a_part_that_is_wrong_is_refused_and_nothing_of_it_stays(
    ada: Account, data: bytes, offset: int, sha256: str, why: str
):
    upload = begun(ada, 20)
    with pytest.raises(UploadError, match=why):
        part(upload, data, offset, sha256=sha256)
    assert [file.received for file in upload.progress()] == [0]


def test_an_upload_is_its_accounts_alone_and_for_a_day(ada: Account, monkeypatch: pytest.MonkeyPatch):
    upload = begun(ada, 20)
    eve = account("eve", "researcher")
    for key in (upload.key, "0" * 32, "../../etc", ""):
        with pytest.raises(NoSuchUpload):
            uploads.upload_of(eve, key)
    assert uploads.upload_of(ada, upload.key) == upload
    assert uploads.uploads_of(eve) == [] and uploads.uploads_of(ada) == [upload]
    assert uploads.remove_expired_uploads() == 0
    later = time.time() + uploads.UPLOAD_LIFETIME + 1
    monkeypatch.setattr(time, "time", lambda: later)
    with pytest.raises(NoSuchUpload):
        uploads.upload_of(ada, upload.key)
    assert uploads.uploads_of(ada) == []
    job = Job.objects.create(kind="import_upload", arguments={"upload": upload.key}, state=Job.RUNNING)
    assert uploads.remove_expired_uploads() == 0 and upload.folder.exists()
    Job.objects.filter(pk=job.pk).update(state=Job.FAILED)
    assert uploads.remove_expired_uploads() == 1 and not upload.folder.exists()


def test_quota_and_disk_are_asked_before_anything_is_sent(ada: Account, settings, monkeypatch):
    settings.UPLOAD_QUOTA = 1000
    first = begun(ada, 600, name="first")
    with pytest.raises(UploadError, match="your uploads may take 1000.bytes, of which 600.bytes"):
        begun(ada, 500, name="second")
    begun(account("eve", "researcher"), 900)
    settings.UPLOAD_QUOTA = 10**12
    # Of these, 1,500 are reserved for started uploads, and 100 of them have arrived.
    part(first, bytes(100))
    monkeypatch.setattr(uploads, "free_bytes", lambda: 11_400)
    with pytest.raises(UploadError, match="the server has 9.8\xa0KB left"):
        begun(ada, 4_000, name="third")
    begun(ada, 3_000, name="third")


def test_uploads_that_begin_at_once_stay_within_the_quota(ada: Account, settings, monkeypatch):
    settings.UPLOAD_QUOTA = 1000
    free = uploads.free_bytes

    def slowly() -> int:
        time.sleep(0.02)  # between the check and the folder
        return free()

    def begin(name: str) -> bool:
        try:
            begun(ada, 300, name=name)
        except UploadError:
            return False
        finally:
            connections.close_all()
        return True

    monkeypatch.setattr(uploads, "free_bytes", slowly)
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(begin, "abcdefgh")) == 3


def test_a_part_is_refused_where_the_disk_is_full_up_to_its_reserve(ada: Account, monkeypatch):
    upload = begun(ada, 20)
    monkeypatch.setattr(uploads, "free_bytes", lambda: 9)
    with pytest.raises(
        UploadError, match=r"could not be stored \(No space left on device\): try again later"
    ):
        part(upload, b"0123456789")
    assert part(upload, b"012345678") == 9


@pytest.mark.parametrize(
    "path",
    ["../up.zip", "/etc/passwd", "a/../b.zip", ".hidden", "a//b.zip", "a\\b.zip", "a\nb.zip", "", "x" * 300],
)
def test_a_name_that_leads_elsewhere_is_refused(ada: Account, path: str):
    with pytest.raises(UploadError, match="is refused: rename the file"):
        uploads.begin_upload(account=ada, name="mine", files=[(path, 3)])


def test_what_cannot_be_begun_says_why(ada: Account):
    Corpus.objects.create(name="taken", format="x", source="x", published=True)
    for name, files, why in (
        ("taken", [("a.zip", 1)], "already exists: choose another name"),
        ("no name", [("a.zip", 1)], "is no name of a corpus"),
        ("mine", [], "No file was chosen"),
        ("mine", [("a", 1), ("a", 2)], "Two files have the same name"),
        ("mine", [("a", -1)], "is refused"),
        ("mine", [(f"f{n}", 1) for n in range(uploads.MOST_FILES + 1)], "pack them into an archive"),
    ):
        with pytest.raises(UploadError, match=why):
            uploads.begin_upload(account=ada, name=name, files=files)
    for n in range(uploads.MOST_UPLOADS):
        begun(ada, 1, name=f"n{n}")
    with pytest.raises(UploadError, match="You have 10 uploads already"):
        begun(ada, 1, name="one-more")


PROBLEMS = {("picture", "p07.jpg"), ("picture", "p21.jpg")}


@pytest.mark.parametrize("packed", [True, False])
def test_an_upload_is_looked_at_and_imported_without_its_problems(ada: Account, packed: bool):
    """A zip of all, or the files of a folder: the same list, by the path that the command takes."""
    files = forty()
    upload = uploaded(ada, {"forty.zip": zipped(files)} if packed else files)
    result = checked(upload)
    assert (result.format, result.images, result.pictures) == ("flickr8k", SOUND, SOUND)
    assert {(problem.sort, Path(problem.file).name) for problem in result.problems} == PROBLEMS
    assert all(str(upload.folder) not in str(problem) for problem in result.problems)
    assert result.english == 1
    if packed:
        assert result.sha256 == {"forty.zip": hashlib.sha256(upload.file_path(0).read_bytes()).hexdigest()}
    with pytest.raises(SourceProblems, match="2 problems"):
        imported(upload, result.format)
    with pytest.raises(Invalid, match=r"pictures: 1 without a caption \(.*p39\.jpg\)"):
        imported(upload, result.format, skip_problems=True)
    assert not Corpus.objects.exists()
    report = imported(upload, result.format, skip_problems=True, leave_unused=True)
    assert report.sheet == result.sheet and result.sheet.balanced
    assert {(problem.sort, Path(problem.file).name) for problem in report.problems} == PROBLEMS
    corpus = Corpus.objects.get(name="mine")
    assert (corpus.published, corpus.image_count) == (True, SOUND)
    assert corpus.source.startswith("upload of ") and str(upload.folder) not in corpus.source
    assert Image.objects.exclude(picture="").count() == SOUND


def test_the_preview_has_twenty_rows_with_pictures_where_there_are_sound_ones(ada: Account):
    upload = uploaded(ada, {"forty.zip": zipped(forty())})
    rows = checked(upload).rows
    assert len(rows) == 20 and [row.filename for row in rows[:2]] == ["p00.jpg", "p01.jpg"]
    assert [row.picture for row in rows] == [n != 7 for n in range(20)]
    assert uploaded_source.preview_picture(upload, 0).read_bytes()[:3] == b"\xff\xd8\xff"
    assert rows[0].captions == [f"A man with hat {k} is in the street of picture 0 ." for k in range(2)]


def test_captions_and_an_archive_of_pictures_belong_together(ada: Account):
    files = {name: content for name, content in forty().items() if "07" not in name and "21" not in name}
    captions = b"\n".join(
        line for line in files.pop("captions.token.txt").splitlines() if not re.match(rb"p(07|21)", line)
    )
    upload = uploaded(ada, {"captions.token.txt": captions + b"\n", "photos.zip": zipped(files)})
    assert brought(upload).pictures == SOUND


def test_pictures_of_several_folders_are_found_and_names_that_clash_are_told(ada: Account):
    lines = "".join(f"p{n}.jpg#0\tA dog .\n" for n in range(4)).encode()
    files = {"captions.token.txt": lines}
    files |= {f"{'train' if n < 2 else 'test'}/p{n}.jpg": a_picture(n) for n in range(4)}
    assert brought(uploaded(ada, files)).pictures == 4
    clash = uploaded(ada, {**files, "test/p0.jpg": a_picture(9)}, name="clash")
    result = checked(clash)
    assert [problem.what for problem in result.problems] == [
        "'p0.jpg' may be 'test/p0.jpg' and 'train/p0.jpg'"
    ]
    with pytest.raises(FormatError, match="^clash: 'p0.jpg' may be .*; expected one picture of that name"):
        imported(clash)
    report = imported(clash, skip_problems=True)
    assert (report.images, report.pictures) == (3, 3)
    assert uploaded_source.preview_picture(clash, 0).exists()  # its page still shows its rows


def test_captions_that_do_not_read_as_english_are_told(ada: Account):
    lines = "".join(f"p{n}.jpg#0\tEin Mann mit Hut steht auf der Straße .\n" for n in range(4)).encode()
    assert checked(uploaded(ada, {"c.token.txt": lines})).english == 0


@pytest.mark.parametrize(
    ("format", "files"),
    [
        ("csv", {"captions.csv": b"image,caption\r\na.jpg,A dog .\r\n"}),
        ("flickr30k", {"captions.json": b'{"a.jpg": ["A dog ."]}'}),
        ("karpathy", {"d.json": b'{"images": [{"filename": "a.jpg", "sentences": [{"raw": "A dog ."}]}]}'}),
        (
            "coco",
            {
                "captions.json": b'{"images": [{"id": 1, "file_name": "a.jpg"}], '
                b'"annotations": [{"id": 1, "image_id": 1, "caption": "A dog ."}]}'
            },
        ),
        ("entities", {"Sentences/a.txt": b"[/EN#1/animals A dog] runs .\n"}),
        (
            "jsonl",
            {"c.jsonl": b'{"id": "a", "filename": "a.jpg", "captions": [{"text": "A dog ."}]}\n'},
        ),
    ],
)
def test_the_format_is_found_out_from_the_files(ada: Account, format: str, files: dict[str, bytes]):
    result = checked(uploaded(ada, files))
    assert (result.format, result.images, result.captions) == (format, 1, 1)


def test_files_in_no_known_format_say_what_is_known(ada: Account):
    with pytest.raises(FormatError, match="format that is known; expected pictures, or captions as one of"):
        checked(uploaded(ada, {"notes.txt": b"hello\n"}))
    upload = begun(ada, 10)
    with pytest.raises(IntakeError, match="some of the files have not come yet"):
        checked(upload)


def link_tar() -> bytes:
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("captions.token.txt")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.zip", lambda: zipped({"../../out.token.txt": b"x"}), "leads outside its folder"),
        ("a.zip", lambda: zipped({"/etc/x.token.txt": b"x"}), "leads outside its folder"),
        ("a.tar", link_tar, "is a link"),
        ("a.zip", lambda: zipped({"bomb.token.txt": bytes(70 * 2**20)}), "grows more than 200-fold"),
        ("a.zip", lambda: zipped({"a.txt": b"x"})[:-20], "is damaged"),
    ],
)
def test_archives_are_refused_as_by_command(
    ada: Account, name: str, content, why: str, tmp_path: Path, settings
):
    settings.DATA_DIR = tmp_path / "data"
    upload = uploaded(ada, {name: content()}, part=2**20)
    with pytest.raises(FormatError, match=why) as error:
        checked(upload)
    assert str(error.value).startswith(f"{name}: ")
    outside = [file for file in tmp_path.rglob("*") if file.is_file() and upload.folder not in file.parents]
    assert outside == []


def test_an_archive_may_not_outgrow_the_disk(ada: Account, monkeypatch: pytest.MonkeyPatch):
    upload = uploaded(ada, {"a.zip": zipped({"c.token.txt": os.urandom(50_000)})}, part=2**20)
    monkeypatch.setattr(uploaded_source, "free_bytes", lambda: 10_000)
    with pytest.raises(FormatError, match="holds more than 10000 bytes"):
        checked(upload)


@pytest.mark.parametrize(
    ("limits", "why"),
    [({"size": 100_000}, "holds more than 40000 bytes"), ({"entries": 1}, "holds too many entries")],
)
def test_the_archives_of_an_upload_share_one_allowance(ada: Account, monkeypatch, limits: dict, why: str):
    packed = zipped({"c.token.txt": os.urandom(60_000)})
    upload = uploaded(ada, {"a.zip": packed, "b.zip": packed}, part=2**20)
    monkeypatch.setattr(uploaded_source, "DEFAULT_LIMITS", ArchiveLimits(**limits))
    with pytest.raises(FormatError, match=why) as error:
        checked(upload)
    assert str(error.value).startswith("b.zip: ")


def test_zip_entries_that_are_links_are_refused(ada: Account):
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        entry = zipfile.ZipInfo("link.token.txt")
        entry.external_attr = 0o120777 << 16
        archive.writestr(entry, "/etc/passwd")
    with pytest.raises(FormatError, match="is a link"):
        checked(uploaded(ada, {"a.zip": buffer.getvalue()}))
