"""The evaluation's part of the demonstration: interrupted and resumed, and unchanged once it is complete."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.datasets.importing import import_records
from annotation.protocol.terms import CaptionRecord, Chain, ImageRecord, LayerRecord, Mention
from config.demonstration.evaluating import LEAST_IMAGES, DemoNames, make_demo_evaluation
from config.demonstration.files import described
from config.sample import sample_records
from evaluation.models import Batch, QrelsSnapshot, Report, Run, System
from evaluation.services.batches.state import batch_state

SPLITS = ("train", "val", "test")
NAMES = DemoNames("sample", "")


class Stopped(Exception):
    """The demonstration was killed."""


class Calls:
    """Runs commands and records their names; dies in place of the nth call of `last`."""

    def __init__(self, last: str = "", nth: int = 1) -> None:
        self.commands: list[str] = []
        self._end = (last, nth)

    def __call__(self, command: str, *args: Any, quiet: bool = False, **options: Any) -> None:
        self.commands.append(command)
        if (command, self.commands.count(command)) == self._end:
            raise Stopped
        call_command(command, *args, **options, stdout=StringIO())


@pytest.fixture
def folder(tmp_path: Path, settings) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    return tmp_path / "demo"


def paint(folder: Path, images: int) -> None:
    """Paint a small sample corpus, a third of it in each split."""
    created = enumerate(sample_records(images, seed=1, out=folder / "images"))
    records = (replace(record, split=SPLITS[number % 3]) for number, record in created)
    import_records(name=NAMES.corpus, records=records, format="jsonl", source="painted")


@pytest.mark.slow  # the default run resumes batches and jobs, in `evaluation/database` and `jobs`
def test_what_was_killed_goes_on_and_what_stands_is_not_made_again(db: None, folder: Path) -> None:
    paint(folder, 3 * LEAST_IMAGES)
    with pytest.raises(Stopped):
        make_demo_evaluation(NAMES, folder=folder, seed=1, call=Calls("simulate_judges", nth=2))
    assert batch_state("first").short
    with pytest.raises(Stopped):
        make_demo_evaluation(NAMES, folder=folder, seed=1, call=Calls("build_report"))
    assert [batch_state(batch).state for batch in ("first", "second")] == ["closed", "open"]
    assert not batch_state("first").short and batch_state("second").unused
    counts = {model: model.objects.count() for model in (System, Run, Batch, QrelsSnapshot)}
    assert counts == {System: 4, Run: 8, Batch: 2, QrelsSnapshot: 1}

    (qrels,) = QrelsSnapshot.objects.all()
    Report.objects.create(corpus=qrels.corpus, name=NAMES.report, qrels=qrels, inputs={}, digest="", files={})
    nothing = Calls()
    assert make_demo_evaluation(NAMES, folder=folder, seed=1, call=nothing)
    assert nothing.commands == []


def test_a_corpus_with_few_images_is_left_alone(db: None, folder: Path) -> None:
    paint(folder, 3)
    nothing = Calls()
    assert not make_demo_evaluation(NAMES, folder=folder, seed=1, call=nothing)
    assert nothing.commands == [] and not folder.joinpath("gold.csv").exists()


def record(name: str, *captions: str) -> ImageRecord:
    """Return an image whose captions' capitalised words are its mentions, each in a chain of its own."""
    mentions = [
        Mention(number, index, index + 1, (word.lower(),), ("other",))
        for number, caption in enumerate(captions)
        for index, word in enumerate(caption.split())
        if word[0].isupper()
    ]
    layer = LayerRecord(chains=tuple(Chain(str(n), (mention,)) for n, mention in enumerate(mentions, 1)))
    texts = tuple(CaptionRecord(caption.lower()) for caption in captions)
    return ImageRecord(name, f"{name}.jpg", texts, layer=layer)


def test_a_caption_describes_where_all_its_things_but_one_are() -> None:
    result = described(
        [
            record("a", "the Man rides a Horse past a Barn", "the Man"),
            record("b", "a Man leads the Horse", "nobody is there"),
            record("c", "a Man", "the Barn"),
        ]
    )
    assert result.captions == ("a.jpg#0", "a.jpg#1", "b.jpg#0", "b.jpg#1", "c.jpg#0", "c.jpg#1")
    fits = [["-x"[int(fit)] for fit in row] for row in result.fits]
    # Two of three things are enough; one thing or none describes only its own picture.
    assert ["".join(row) for row in fits] == ["xxx---", "x-xx--", "x---xx"]
