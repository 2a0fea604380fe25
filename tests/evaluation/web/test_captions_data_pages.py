"""Parses and word vectors on pages: each a job, each refusal one line with the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from annotation import jobs
from annotation.models import Job
from evaluation.services.collection_requests import PARSE_FILES
from evaluation.services.features.parses import parses_of
from evaluation.services.features.store import feature_set
from tests.evaluation.web import little
from tests.evaluation.web.test_system_pages import error_text
from tests.web.staff import messages_on, press, words

pytestmark = pytest.mark.django_db
FEATURES = "/evaluation/features/"
PARSES, TRAINING = "/operations/import_parses/", "/operations/train_word_vectors/"


@pytest.fixture
def small(db: None) -> str:
    """A corpus of nine captions: `caption 0 of a` to `caption 2 of c`."""
    return little.corpus()


def parsed(data_dir: Path, file: str, *captions: str) -> None:
    """Write a file on the server with parses of these captions, in which every word depends on the previous
    one."""
    lines = []
    for name in captions:
        picture, number = name.split(".jpg#")
        lines.append(f"# sent_id = {name}")
        for index, word in enumerate(("caption", number, "of", picture)):
            lines.append(f"{index + 1}\t{word}\t_\t_\t_\t_\t{index}\tdep\t_\t_")
        lines.append("")
    folder = data_dir / "sources" / "parses"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text("\n".join(lines))


def done() -> Job:
    """Run the newest job, and return it."""
    jobs.run_queued_job(Job.objects.latest("pk").pk)
    return Job.objects.latest("pk")


def test_parses_are_imported_by_a_job_and_shown(ada: Client, small: str, data_dir: Path):
    page = words(ada.get(FEATURES))
    assert "into the folder sources/parses of the data folder" in page and "Digest" not in page
    parsed(data_dir, "p.conllu", "a.jpg#0", "a.jpg#1", "gone.jpg#0")
    response = press(ada, FEATURES, "Import parses", corpus=small, file="p.conllu", leave_unused="on")
    assert messages_on(response) == ["Importing the parses."]
    assert "Import parses small" in words(response)
    assert done().state == Job.DONE
    stored = parses_of(small)
    assert stored.captions == 2 and stored.created.tzinfo is not None
    page_text = words(ada.get(FEATURES))
    row = f"small 2 8 p.conllu; 7 captions without a parse; 1 parse left out {stored.digest[:12]}"
    assert row in page_text


def test_other_parses_take_a_tick(ada: Client, small: str, data_dir: Path):
    parsed(data_dir, "p.conllu", "a.jpg#0")
    parsed(data_dir, "q.conllu", "b.jpg#0")
    press(ada, FEATURES, "Import parses", file="p.conllu")
    done()
    response = press(ada, FEATURES, "Import parses", file="q.conllu")
    assert error_text(response).startswith("Corpus small has parses already")
    assert Job.objects.count() == 1
    press(ada, FEATURES, "Import parses", file="q.conllu", replace="on")
    assert done().state == Job.DONE
    assert [sentence.id for sentence in parses_of(small).sentences()] == ["b.jpg#0"]


def test_what_is_no_parse_of_the_corpus_ends_the_job_in_one_line(ada: Client, small: str, data_dir: Path):
    parsed(data_dir, "p.conllu", "gone.jpg#0")
    press(ada, FEATURES, "Import parses")
    job = done()
    assert job.state == Job.FAILED and "no parse fits a caption of corpus 'small'" in job.error
    assert "no parse fits a caption" in words(ada.get(FEATURES))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"file": "../../secret.conllu"}, "There is no file “../../secret.conllu” here; known: p.conllu."),
        ({"file": ""}, "This is required."),
        ({"corpus": "other"}, "There is no corpus “other” here; known: small."),
    ],
)
def test_parses_that_the_page_does_not_offer_are_refused(
    ada: Client, small: str, data_dir: Path, change: dict[str, str], says: str
):
    parsed(data_dir, "p.conllu", "a.jpg#0")
    answer = ada.post(PARSES, {"corpus": small, "file": "p.conllu", **change})
    assert error_text(answer) == says and not Job.objects.exists()


def test_only_files_of_parses_are_offered(data_dir: Path):
    for name in ("p.conllu", "q.conllu.gz", "r.txt", "s.gz", ".conllu"):
        parsed(data_dir, name)
    assert PARSE_FILES.names() == ["p.conllu", "q.conllu.gz"]


def test_word_vectors_are_trained_by_a_job_and_shown(ada: Client, small: str):
    numbers = {"dimensions": "4", "epochs": "2", "least": "3"}
    response = press(ada, FEATURES, "Train", corpus=small, name="own", split="all", **numbers)
    assert messages_on(response) == ["Training the word vectors."]
    job = Job.objects.get()
    assert job.arguments == {
        "corpus": small,
        "name": "own",
        "split": "all",
        "dimensions": 4,
        "epochs": 2,
        "least": 3,
    }
    assert done().state == Job.DONE
    result = feature_set(small, "own")
    assert (result.kind, result.dimensions) == ("word", 4) and "caption" in result.ids()
    assert "own:1 small words" in words(ada.get(FEATURES))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": "a b"}, "This is no valid name"),
        ({"name": ""}, "This is required."),
        ({"corpus": "other"}, "There is no corpus “other” here"),
        ({"dimensions": "1"}, "Expected 2 or more."),
        ({"epochs": "1001"}, "Expected 1000 or less."),
        ({"least": "0"}, "Expected 1 or more."),
        ({"window": "many"}, "Expected a whole number."),
        ({"split": ""}, "corpus 'small' has the splits 'dev', 'test' and none that is called 'train'; say"),
        ({"split": "9/"}, "There is no split “9/” here; known: dev, test."),
    ],
)
def test_trainings_that_cannot_be_are_refused(ada: Client, small: str, change: dict[str, str], says: str):
    answer = ada.post(TRAINING, {"corpus": small, "name": "own", "split": "all", **change})
    assert error_text(answer).startswith(says)
    assert not Job.objects.exists()


def test_words_that_come_too_rarely_end_the_job_in_one_line(ada: Client, small: str):
    press(ada, FEATURES, "Train", name="own", split="all", least="100")
    job = done()
    assert job.state == Job.FAILED
    assert job.error == "no word of corpus 'small' comes 100 times; lower that number"


def test_a_role_for_a_corpus_covers_its_parses_and_words_alone(
    ada: Client, eve: Client, small: str, data_dir: Path
):
    parsed(data_dir, "p.conllu", "a.jpg#0")
    press(ada, FEATURES, "Import parses", corpus=small)
    done()
    page_text = words(eve.get(FEATURES))
    assert "Parses of captions" not in page_text and "small" not in page_text.split()
    for address, form in ((PARSES, {"file": "p.conllu", "replace": "1"}), (TRAINING, {"name": "x"})):
        response = eve.post(address, {"corpus": small, **form})
        assert "There is no corpus “small” here" in words(response)
    assert Job.objects.count() == 1
