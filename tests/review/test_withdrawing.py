"""A withdrawn picture: its file, thumbnail, tasks, leases, control items and exports are removed, and it is
not restored by an answer, an import or a restored backup."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from annotation import jobs
from annotation.campaigns import CampaignPlan, open_campaign
from annotation.datasets import archives
from annotation.datasets.exporting import export_dataset
from annotation.datasets.importing import import_records
from annotation.images import pictures, withdrawn
from annotation.images.pictures import PictureError, picture_path, small_copy_path
from annotation.jobs import schedule
from annotation.jobs.kinds import export_dataset as export_job
from annotation.models import Assignment, AuditEntry, Campaign, Control, Image, Item, Job, OpenImage, Task
from annotation.moderation import control_items, withdrawn_pictures
from annotation.moderation.withdrawn_pictures import withdraw_again, withdraw_picture
from annotation.protocol import questions as q
from annotation.protocol.state import ImageState
from annotation.queue import image_state, leases
from annotation.queue.leases import Lease
from annotation.web.common.addresses import thumbnail
from phrasebox.errors import PhraseboxError
from tests.factories import some_images
from tests.intake.conftest import a_picture
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def work(tmp_path: Path, settings) -> World:
    """Three images with pictures in an open campaign; the first two are the same picture."""
    settings.DATA_DIR = tmp_path / "data"
    first, another = (
        a_picture(tmp_path / f"{colour}.jpg", colour, size=(500, 375)) for colour in ("navy", "red")
    )
    records = [
        replace(record, picture=picture)
        for record, picture in zip(some_images(3), (first, first, another), strict=True)
    ]
    return World(records, name="quay")


def images(work: World) -> list[Image]:
    return list(Image.objects.filter(corpus=work.corpus).order_by("position"))


def test_all_that_shows_the_picture_goes_and_nothing_else(work: World):
    displayed, same, another = images(work)
    path, small = picture_path(displayed.picture), thumbnail(picture_path(displayed.picture))
    held = [result for worker in range(4) if isinstance(result := work.take(worker), Lease)]
    mine = Task.objects.filter(image__image__in=(displayed, same), state=Task.OPEN)
    theirs = Task.objects.filter(image__image=another, state=Task.OPEN)
    before, stored = mine.count(), list(theirs.values_list("pk", "key").order_by("pk"))
    Control.objects.create(
        campaign=work.campaign,
        kind=q.COREF_LINK,
        image=displayed,
        key="k",
        content={},
        known="yes",
        stratum="yes",
        source="page",
    )
    done = withdraw_picture(image=displayed)
    assert (done.corpora, done.images, done.tasks, done.controls) == (["quay"], 2, before, 1)
    assert before > 0 and not mine.exists()
    assert list(theirs.values_list("pk", "key").order_by("pk")) == stored
    assert not path.exists() and not small.exists()
    assert [image.picture for image in images(work)] == ["", "", another.picture]
    assert picture_path(another.picture).exists()
    lost = [item for item in held if item.image in (displayed.pk, same.pk)]
    assert done.leases == len(lost) > 0
    for item in held:
        state = Assignment.objects.get(pk=item.id).state
        assert state == (Assignment.RETURNED if item in lost else Assignment.LEASED)
    assert not Control.objects.get().active
    assert set(Task.objects.filter(image__image__in=(displayed, same)).values_list("live", flat=True)) == {0}
    lines = AuditEntry.objects.filter(act="withdraw_picture").order_by("pk")
    assert [line.about["image"] for line in lines] == [displayed.key, same.key]


def test_what_was_asked_is_not_asked_again_by_any_later_fold(work: World):
    displayed, same, another = images(work)
    work.submit(0, work.held(0), then=False)
    withdraw_picture(image=displayed)
    for row in OpenImage.objects.filter(image__in=(displayed, same)):
        assert image_state.refold_image(row.pk).questions is not None
        row.refresh_from_db()
        assert row.complete and row.state["withdrawn"] == ["*"] and row.state["open"] == {}
    work.work()
    assert not Task.objects.filter(image__image__in=(displayed, same), state=Task.OPEN).exists()
    assert Task.objects.filter(image__image=another).exists()


def test_nobody_gets_a_task_about_it(work: World):
    displayed, same, another = images(work)
    withdraw_picture(image=displayed)
    result = [work.take(worker) for worker in range(4)]
    assert {item.image for item in result if isinstance(item, Lease)} == {another.pk}


def test_pages_that_show_it_among_others_go_too(tmp_path: Path, settings):
    settings.DATA_DIR = tmp_path / "data"
    records = [
        replace(record, picture=a_picture(tmp_path / f"{n}.jpg", colour, size=(500, 375)))
        for n, (record, colour) in enumerate(
            zip(some_images(4), ("navy", "red", "green", "white"), strict=True)
        )
    ]
    world = World(records, name="pages")
    displayed, beside = images(world)[:2]
    Campaign.objects.filter(pk=world.campaign.pk).update(tasks="relevance")
    opened = OpenImage.objects.get(image=beside)
    task = Task.objects.filter(image=opened, state=Task.OPEN).first()
    assert task is not None
    Item.objects.filter(task=task).update(content={"image": displayed.pk, "captions": []})
    withdraw_picture(image=displayed)
    task.refresh_from_db()
    opened.refresh_from_db()
    assert task.state != Task.OPEN and opened.state["withdrawn"] == [task.key]


def test_exports_that_may_hold_it_go(work: World, tmp_path: Path):
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "a.txt").write_text("a")
    pack = archives.pack(tmp_path / "made", "quay-export")
    other_pack = archives.pack(tmp_path / "made", "other-export")
    for corpus, download in (("quay", pack), ("elsewhere", other_pack)):
        Job.objects.create(
            kind="export_dataset",
            state=Job.DONE,
            arguments={"corpus": corpus},
            result={"path": download.path},
        )
    assert withdraw_picture(image=images(work)[0]).exports == 1
    with pytest.raises(archives.DownloadExpired):
        archives.file_of(pack.path)
    assert archives.file_of(other_pack.path).exists()


@pytest.mark.parametrize("killed_at", ["exports", "file", "rows"])
def test_what_a_killed_withdrawal_left_is_finished(work: World, monkeypatch, killed_at: str):
    displayed, same, another = images(work)
    where = {
        "exports": (withdrawn_pictures, "_remove_exports"),
        "file": (pictures, "discard_picture"),
        "rows": (withdrawn_pictures, "record"),
    }

    def die(*_: object, **__: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(*where[killed_at], die)
        with pytest.raises(SystemExit):
            withdraw_picture(image=displayed)
    # Nothing reports success: neither row lost its picture.
    assert [image.picture for image in images(work)] == [displayed.picture, same.picture, another.picture]
    assert schedule.do("withdraw_again")
    assert [image.picture for image in images(work)] == ["", "", another.picture]
    assert not picture_path(displayed.picture).exists()
    assert AuditEntry.objects.filter(act="withdraw_picture").count() == 2


@pytest.mark.parametrize("at", ["_remove_exports", "discard_picture"])
def test_an_image_opened_while_its_picture_is_withdrawn_asks_nothing_about_it(
    work: World, monkeypatch, at: str
):
    displayed, same, another = images(work)
    where = withdrawn_pictures if at == "_remove_exports" else pictures
    step = getattr(where, at)
    held: list[int] = []

    def open_and_go_on(*about):
        late = open_campaign(CampaignPlan(name="late", corpus="quay", tasks="entities", settings=TRUSTING))
        control_items.from_gold(campaign=late, layer=work.corpus.layers.get(name="import"))
        tasks = Task.objects.filter(campaign=late, image__image=displayed, state=Task.OPEN)
        assert tasks.filter(kind=q.BOX_REQUIREMENT).exists()
        for worker in work.workers:
            lease = leases.take_lease(worker=worker, campaign=late, kind=q.BOX_REQUIREMENT)
            if isinstance(lease, Lease):
                held.append(lease.image)
        return step(*about)

    with monkeypatch.context() as patch:
        patch.setattr(where, at, open_and_go_on)
        done = withdraw_picture(image=displayed)
    mine = Task.objects.filter(image__image__in=(displayed, same))
    assert not mine.filter(state=Task.OPEN).exists()
    late = OpenImage.objects.filter(campaign__name="late", image__in=(displayed, same))
    assert [row.state["withdrawn"] for row in late] == [["*"], ["*"]]
    lost = [image for image in held if image in (displayed.pk, same.pk)]
    assert (done.tasks, done.leases) == (mine.count(), len(lost)) and lost
    assert Assignment.objects.filter(state=Assignment.LEASED).count() == len(held) - len(lost)
    about = Control.objects.filter(campaign__name="late", image__in=(displayed, same))
    assert done.controls == about.count() > 0 and not about.filter(active=True).exists()
    assert Task.objects.filter(image__image=another, campaign__name="late", state=Task.OPEN).exists()


@pytest.mark.django_db(transaction=True)
def test_a_withdrawal_waits_for_an_opening_that_has_seen_the_picture(work: World):
    displayed, same, _ = images(work)
    opened, withdrawing_now = threading.Event(), threading.Event()

    def open_late() -> None:
        try:
            with transaction.atomic():
                open_campaign(CampaignPlan(name="late", corpus="quay", tasks="entities", settings=TRUSTING))
                opened.set()
                withdrawing_now.wait(1.0)  # what is opened here is not visible yet
        finally:
            connection.close()

    thread = threading.Thread(target=open_late)
    thread.start()
    assert opened.wait(30)
    done = withdraw_picture(image=displayed)
    withdrawing_now.set()
    thread.join(30)
    mine = Task.objects.filter(campaign__name="late", image__image__in=(displayed, same))
    assert mine.exists() and not mine.filter(state=Task.OPEN).exists() and done.tasks > mine.count()


def test_what_was_closed_before_is_not_folded_again_at_the_end(work: World, monkeypatch):
    folded: list[int] = []
    refold = image_state.refold_image

    def reported(image: int) -> ImageState:
        folded.append(image)
        return refold(image)

    with monkeypatch.context() as patch:
        patch.setattr(image_state, "refold_image", reported)
        withdraw_picture(image=images(work)[0])
    assert len(folded) == len(set(folded)) == 2


def test_an_export_that_runs_meanwhile_is_not_offered(work: World, monkeypatch):
    image = images(work)[0]
    pack = export_job.pack

    def withdraw_and_pack(*args, **options):
        withdraw_picture(image=image)
        return pack(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(export_job, "pack", withdraw_and_pack)
        arguments = {
            "corpus": "quay",
            "format": "entities",
            "layer": "import",
            "pictures": True,
            "unfinished": "include",
        }
        job = jobs.enqueue(kind="export_dataset", arguments=arguments)
        assert jobs.run_queued_job(job.pk) == Job.FAILED
    job.refresh_from_db()
    assert job.error == "A picture was withdrawn meanwhile: export again."
    assert archives.archives_of_job(job.pk) == []
    again = jobs.enqueue(kind="export_dataset", arguments=arguments)
    assert jobs.run_queued_job(again.pk) == Job.DONE


def test_an_export_that_begins_before_a_withdrawal_ends_leaves_the_picture_out(work: World, tmp_path: Path):
    displayed, _, another = images(work)
    withdrawn.note_withdrawn(displayed.picture)
    export_dataset(
        corpus="quay",
        format="entities",
        out=tmp_path / "out",
        layer="import",
        include_unfinished=True,
        with_pictures=True,
    )
    assert [file.name for file in (tmp_path / "out" / "images").iterdir()] == [another.filename]


def test_an_export_whose_job_is_about_to_end_loses_its_archive(work: World, tmp_path: Path):
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "a.txt").write_text("a")
    job = Job.objects.create(kind="export_dataset", state=Job.RUNNING, arguments={"corpus": "quay"})
    pack = archives.pack(tmp_path / "made", f"quay-entities-{job.pk}")
    assert withdraw_picture(image=images(work)[0]).exports == 1
    with pytest.raises(archives.DownloadExpired):
        archives.file_of(pack.path)


def test_the_same_picture_is_not_stored_again(work: World, tmp_path: Path):
    withdraw_picture(image=images(work)[0])
    record = replace(some_images(1)[0], picture=tmp_path / "navy.jpg")
    with pytest.raises(PictureError, match="this picture was withdrawn; leave the image out"):
        import_records(name="again", records=[record], format="test", source="the test")


def test_a_running_import_does_not_bring_back_what_is_withdrawn_meanwhile(
    work: World, tmp_path: Path, monkeypatch
):
    displayed, _, another = images(work)
    publish = pictures.publish_pictures

    def withdraw_and_publish(staged: Path) -> None:
        withdrawn.note_withdrawn(displayed.picture)
        publish(staged)

    monkeypatch.setattr(pictures, "publish_pictures", withdraw_and_publish)
    records = [
        replace(record, picture=tmp_path / f"{colour}.jpg")
        for record, colour in zip(some_images(2), ("navy", "red"), strict=True)
    ]
    import_records(name="again", records=records, format="test", source="the test")
    result = list(Image.objects.filter(corpus__name="again").order_by("position"))
    assert [image.picture for image in result] == ["", another.picture]


def test_what_a_restored_backup_brings_back_is_withdrawn_again(work: World):
    displayed, same, another = images(work)
    name = displayed.picture
    content = picture_path(name).read_bytes()
    withdraw_picture(image=displayed)
    assert withdraw_again() == []
    # An old backup contains the rows and the file; the list is beside the database.
    Image.objects.filter(pk=displayed.pk).update(picture=name)
    picture_path(name).parent.mkdir(parents=True, exist_ok=True)
    picture_path(name).write_bytes(content)
    (again,) = withdraw_again()
    assert (again.picture, again.images) == (name, 1)
    assert not picture_path(name).exists() and not small_copy_path(picture_path(name)).exists()
    assert Image.objects.get(pk=displayed.pk).picture == "" and withdraw_again() == []


def test_lists_are_merged_and_nonsense_in_them_is_passed_over(tmp_path: Path, settings):
    settings.DATA_DIR = tmp_path
    item, two = "a" * 64 + ".jpg", "b" * 64 + ".png"
    withdrawn.note_withdrawn(item)
    withdrawn.merge_withdrawn(f"../../etc/passwd 2020\n{two} 2020-01-01T00:00:00+00:00\n\n")
    assert withdrawn.withdrawn_pictures() == {item, two}
    assert withdrawn.withdrawn_file().read_text().splitlines()[0].startswith(two)


def test_lists_that_are_written_at_once_lose_no_line(tmp_path: Path, settings):
    settings.DATA_DIR = tmp_path
    names = {f"{number:064x}.jpg" for number in range(64)}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(withdrawn.note_withdrawn, names))
    assert withdrawn.withdrawn_pictures() == names
    assert {path.name for path in tmp_path.iterdir()} == {"withdrawn.txt", ".withdrawn.lock"}


def test_an_image_without_a_picture_has_none_to_withdraw(work: World):
    image = images(work)[0]
    withdraw_picture(image=image)
    image.refresh_from_db()
    with pytest.raises(PhraseboxError, match="has no picture"):
        withdraw_picture(image=image)


def test_the_command_says_what_went(work: World, capsys: pytest.CaptureFixture[str]):
    call_command("withdraw_picture", "quay", images(work)[0].key)
    assert "quay" in capsys.readouterr().out
    with pytest.raises(CommandError, match="There is no image “nobody” here"):
        call_command("withdraw_picture", "quay", "nobody")
