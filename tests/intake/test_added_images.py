"""Images that are added to a corpus whose campaigns are open: all of a delivery or nothing, and each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from annotation import campaigns
from annotation.campaigns.status import CampaignStatus, CampaignStatusRequest, campaign_status
from annotation.common.operations import OperationContext
from annotation.datasets.deleting import delete_corpus
from annotation.datasets.importing import import_corpus
from annotation.datasets.intake import ImportHow
from annotation.formats import FORMATS
from annotation.images import pictures
from annotation.jobs.kinds import corpus_imports
from annotation.models import AuditEntry, Campaign, Caption, Corpus, Image, Judgment, OpenImage, Task
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.models import System
from tests.factories import a_corpus, some_images
from tests.intake.conftest import a_picture, everything
from tests.queue.test_counted import work, workers
from tests.queue.world import TRUSTING

pytestmark = pytest.mark.django_db(transaction=True)


def photographs(folder: Path, *colours: str) -> Path:
    """A folder of pictures named after their colours, as `test/red`."""
    for number, colour in enumerate(colours):
        a_picture(folder / f"{colour}.jpg", Path(colour).name, size=(40 + number, 30))
    return folder


@pytest.fixture
def bare(tmp_path: Path) -> Corpus:
    import_corpus(name="bare", path=photographs(tmp_path / "first", "red", "blue"), format="pictures")
    return Corpus.objects.get()


def writing(name: str = "writing", **also: Any) -> Campaign:
    plan = campaigns.CampaignPlan(name=name, corpus="bare", tasks="captions", settings=TRUSTING, **also)
    return campaigns.open_campaign(plan)


def add(folder: Path, *campaigns: str, format: str = "pictures", **options: Any) -> None:
    options = {"format": format, "add": True, "campaigns": list(campaigns), **options}
    call_command("import_corpus", "bare", folder, **options)


def asked(campaign: str = "writing") -> list[str]:
    rows = OpenImage.objects.filter(campaign__name=campaign).order_by("position")
    return list(rows.values_list("image__key", flat=True))


def status(campaign: str = "writing") -> CampaignStatus:
    return campaign_status(CampaignStatusRequest(campaign=campaign, fresh=True), OperationContext())


def test_an_open_campaign_asks_about_added_pictures_and_its_forecast_follows(
    bare: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign, digest = writing(), bare.digest
    writing("other")
    work(campaign, workers(5))
    before = status()
    assert (before.progress.answers_to_come, before.progress.complete) == (0, 2)
    assert "complete" in {alarm.code for alarm in before.alarms}
    second = photographs(tmp_path / "second", "train/green", "test/black")
    add(second, "writing")
    assert "campaign 'writing' asks about 2 of them" in capsys.readouterr().out
    corpus = Corpus.objects.get()
    assert list(corpus.images.order_by("position").values_list("key", "position", "split")) == [
        ("blue", 0, ""),
        ("red", 1, ""),
        ("black", 2, "test"),
        ("green", 3, "train"),
    ]
    assert (corpus.image_count, corpus.format) == (4, "pictures") and corpus.digest not in ("", digest)
    assert asked() == ["blue", "red", "black", "green"] and asked("other") == ["blue", "red"]
    after = status()
    assert (after.progress.answers_to_come, after.progress.images) == (10, 4)
    assert "complete" not in {alarm.code for alarm in after.alarms}
    line = AuditEntry.objects.get(act="add_images")
    assert (line.about["corpus"], line.about["images"]) == ("bare", 2)
    call_command("export_dataset", "bare", out=tmp_path / "out", format="jsonl", verbosity=0)
    assert "- 2 images were added later, from “second”." in (tmp_path / "out" / "README.md").read_text()
    # The same pictures again, for another campaign too: nothing is added, and it asks about them.
    add(second, "writing", "other")
    assert asked("other") == asked() == ["blue", "red", "black", "green"]
    assert Corpus.objects.get().deliveries == corpus.deliveries and Task.objects.count() == 8


def test_a_picture_that_is_there_is_named_and_refused_or_left(bare: Corpus, tmp_path: Path) -> None:
    folder = photographs(tmp_path / "more", "green", "red")
    (folder / "copy.jpg").write_bytes((tmp_path / "first" / "blue.jpg").read_bytes())
    with pytest.raises(CommandError) as error:
        add(folder)
    assert "red.jpg: corpus 'bare' has image 'red' already" in str(error.value)
    assert "copy.jpg: this is the picture of image 'blue' of corpus 'bare'" in str(error.value)
    assert Corpus.objects.get().image_count == Image.objects.count() == 2
    how = ImportHow(add=True, skip_problems=True)
    report = import_corpus(name="bare", path=folder, format="pictures", how=how)
    assert (report.images, {problem.sort for problem in report.problems}) == (1, {"repeated"})
    assert [line.taken for line in report.sheet.lines] == [1, 1]
    with pytest.raises(CommandError, match="holds no images that corpus 'bare' lacks"):
        add(photographs(tmp_path / "old", "blue"), skip_problems=True)


def test_added_captions_are_asked_about_by_a_campaign_that_needs_them(tmp_path: Path) -> None:
    records = some_images(5, layered=False)
    a_corpus("bare", records[:2])
    plan = campaigns.CampaignPlan(name="phrases", corpus="bare", tasks="entities", settings=TRUSTING)
    campaigns.open_campaign(plan)
    (tmp_path / "more").mkdir()
    FORMATS.get("jsonl").write(records[2:], tmp_path / "more")
    add(tmp_path / "more", "phrases", format="jsonl")
    assert asked("phrases") == ["1000", "1001", "1002", "1003", "1004"]
    assert Corpus.objects.get().caption_count == 10
    (tmp_path / "layered").mkdir()
    FORMATS.get("jsonl").write(some_images(6)[5:], tmp_path / "layered")
    with pytest.raises(
        CommandError, match="image '1005' has chains or boxes; expected pictures and captions"
    ):
        add(tmp_path / "layered", format="jsonl")
    assert Corpus.objects.count() == 1


def test_a_campaign_about_some_splits_gets_no_images_of_others(tmp_path: Path) -> None:
    first = photographs(tmp_path / "first", "train/red", "test/blue")
    import_corpus(name="bare", path=first, format="pictures")
    writing(split="train")
    writing("all")
    add(photographs(tmp_path / "more", "train/green", "test/black", "val/white"), "writing", "all")
    assert asked() == ["red", "green"]
    assert set(asked("all")) == {"red", "blue", "green", "black", "white"}


def captions_of(*names: str) -> list[ImageRecord]:
    return [
        ImageRecord(id=name, filename=f"{name}.jpg", captions=(CaptionRecord(text=f"a {name} wall"),))
        for name in names
    ]


def test_captions_come_later_for_pictures_that_have_none(bare: Corpus, tmp_path: Path) -> None:
    def deliver(folder: str, *names: str) -> None:
        (tmp_path / folder).mkdir()
        FORMATS.get("jsonl").write(captions_of(*names), tmp_path / folder)
        add(tmp_path / folder, format="jsonl")

    photographs(tmp_path / "more", "green", "black")
    add(tmp_path / "more")
    keys = dict(bare.images.values_list("key", "pk"))
    deliver("captions", "white", "red", "green", "pink")
    corpus = Corpus.objects.get()
    assert (corpus.image_count, corpus.caption_count) == (6, 4)
    assert list(corpus.images.order_by("position").values_list("key", "position")) == list(
        zip(["blue", "red", "black", "green", "white", "pink"], range(6), strict=True)
    )
    texts = dict(Caption.objects.values_list("image__key", "text"))
    assert texts == {name: f"a {name} wall" for name in ("red", "green", "white", "pink")}
    assert {keys["red"], keys["green"]} <= set(Caption.objects.values_list("image", flat=True))
    about = corpus.deliveries[-1]
    assert (about["first"], about["images"], about["captions"], about["captioned"]) == (4, 2, 4, 2)
    add(tmp_path / "captions", format="jsonl")  # again: known
    assert Corpus.objects.get().digest == corpus.digest
    with pytest.raises(CommandError, match="image 'red' already, and it has captions"):
        deliver("twice", "red", "blue")
    writing()
    with pytest.raises(CommandError, match="image 'blue' already, and .* a campaign asks about it"):
        deliver("late", "blue")


def test_captions_with_another_picture_are_refused(bare: Corpus, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (record,) = captions_of("red")
    picture = a_picture(tmp_path / "other" / "red.jpg", "blue", size=(9, 9))
    FORMATS.get("jsonl").write([replace(record, picture=picture)], tmp_path / "more")
    with pytest.raises(CommandError, match="image 'red' already, with another picture"):
        add(tmp_path / "more", format="jsonl", images=str(tmp_path / "other"))
    (tmp_path / "split").mkdir()
    FORMATS.get("jsonl").write([replace(record, split="test")], tmp_path / "split")
    with pytest.raises(CommandError, match="image 'red' already, in split ''"):
        add(tmp_path / "split", format="jsonl")
    assert not Caption.objects.exists()


@pytest.mark.parametrize("name", ["graded", "closed", "elsewhere"])
def test_a_campaign_that_cannot_ask_is_named_before_anything_is_read(
    bare: Corpus, tmp_path: Path, name: str
) -> None:
    writing()
    campaigns.close_campaign(campaign=writing("closed"))
    a_corpus("captioned", some_images(2))
    for corpus, other in (("captioned", "elsewhere"), ("bare", "graded")):
        Campaign.objects.create(
            name=other, corpus=Corpus.objects.get(name=corpus), tasks="graded", state=Campaign.OPEN
        )
    with pytest.raises(CommandError, match=f"“{name}” cannot ask about .* These can: writing;"):
        add(tmp_path / "nowhere", name)


def test_images_that_results_were_made_with_stay_as_they_are(bare: Corpus, tmp_path: Path) -> None:
    """Folds, splits and "all images" of runs and qrels mean what they meant."""
    System.objects.create(corpus=bare, name="s", origin="runs")
    with pytest.raises(CommandError, match="takes no further images, .*: systems; import the pictures as"):
        add(photographs(tmp_path / "more", "green"))
    with pytest.raises(CommandError, match="unknown corpus 'lacking'"):
        call_command("import_corpus", "lacking", tmp_path, format="pictures", add=True)
    assert (Corpus.objects.get().digest, Corpus.objects.count()) == (bare.digest, 1)


@pytest.mark.parametrize("dies", ["before", "while asking"])
def test_of_an_interrupted_delivery_nothing_or_all_is_there_and_it_can_be_repeated(
    bare: Corpus, tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch, dies: str
) -> None:
    writing()
    before, folder = everything(data_dir), photographs(tmp_path / "more", "green", "black")

    def die(*arguments: Any, **also: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        if dies == "before":
            patch.setattr(pictures, "publish_pictures", die)
        else:
            patch.setattr(corpus_imports.campaigns, "open_campaign_images", die)
        with pytest.raises(SystemExit):
            add(folder, "writing")
    if dies == "before":
        assert everything(data_dir) == before
    assert (Corpus.objects.count(), asked()) == (1, ["blue", "red"])
    add(folder, "writing")
    assert asked() == ["blue", "red", "black", "green"]
    assert (Corpus.objects.get().image_count, len(Corpus.objects.get().deliveries)) == (4, 1)


def test_what_a_killed_delivery_left_goes_with_its_corpus(bare: Corpus) -> None:
    hidden = Corpus.objects.create(name=f"+{bare.pk}", format="pictures", source="killed")
    Image.objects.create(corpus=hidden, position=0, key="k", filename="k.jpg")
    delete_corpus(corpus=bare)
    assert not Corpus.objects.exists() and not Image.objects.exists()


@pytest.mark.on_both
def test_people_work_while_pictures_arrive(bare: Corpus, tmp_path: Path) -> None:
    campaign, crowd, over = writing(), workers(5), Event()
    colours: Sequence[Sequence[str]] = (("green", "black"), ("white", "gray"), ("pink", "gold"))
    deliveries = [photographs(tmp_path / f"more{n}", *some) for n, some in enumerate(colours)]

    def write(worker: int) -> int:
        try:
            number = 0
            while not over.is_set():
                number += work(campaign, [worker])
            return number
        finally:
            connection.close()

    with ThreadPoolExecutor(len(crowd)) as pool:
        done = [pool.submit(write, worker) for worker in crowd]
        try:
            for folder in deliveries:
                add(folder, "writing", verbosity=0)
        finally:
            over.set()
        meanwhile = sum(each.result(60) for each in done)
    # Who finds a task locked for a moment gets none, and asks again later.
    assert meanwhile + work(campaign, crowd) == 5 * 8
    answers = Counter(Judgment.objects.values_list("image__image__key", flat=True))
    assert answers == dict.fromkeys(["red", "blue", *(name for some in colours for name in some)], 5)
    assert not OpenImage.objects.filter(complete=False).exists()
    assert list(bare.images.order_by("position").values_list("position", flat=True)) == list(range(8))
