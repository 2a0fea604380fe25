"""The command rank_tags, and the tags of real captions against a slow reading of the equations."""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.datasets.importing import import_records
from annotation.models import Corpus
from annotation.protocol.chunker.chunking import NounPhraseChunker
from annotation.protocol.terms import CaptionRecord, Chain, ImageRecord, LayerRecord, Mention
from evaluation.services.tags import reading
from evaluation.services.tags.ranked import TagsRequest, rank_tags
from evaluation.services.tags.reading import CaptionToRead, read_ranked_tags
from models_core.features.text.lemmas import OTHER_PART, Lemmatiser, Word, carries_content
from models_core.features.text.tags import ranked_tags, tags_in_caption
from models_core.features.text.tokens import tokenise
from tests.evaluation.database.conftest import said
from tests.models_core.features.text.slow_tags import read_slowly
from tests.sizes import sized

CAPTIONS = {
    "1": ["The dog bites."],
    "2": ["A boy on a soccer field.", "Dogs watch the boy."],
    "3": ["Running fast!"],
    "4": [],
}


@pytest.fixture
def pets(db: None) -> str:
    records = [
        ImageRecord(id=key, filename=f"{key}.jpg", captions=tuple(map(CaptionRecord, captions)))
        for key, captions in CAPTIONS.items()
    ]
    records.append(
        ImageRecord("5", "5.jpg", (CaptionRecord("Trees."), CaptionRecord("A cat.", unrelated=True)))
    )
    import_records(name="pets", records=records, format="test", source="memory")
    return "pets"


def lines_of(file: Path) -> list[object]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_line_for_each_image(pets: str, tmp_path: Path) -> None:
    out = tmp_path / "tags.jsonl"
    shown = said("rank_tags", pets, "--alpha", "0.5", "--out", out)
    assert lines_of(out) == [
        {"image": "1.jpg", "tags": [["dog", 0.666667]]},
        # boy: 2 of 5 nouns, second of six words; dog first of four; soccer 5th, field 6th of six
        {"image": "2.jpg", "tags": [["boy", 0.533333], ["dog", 0.475], ["soccer", 0.183333], ["field", 0.1]]},
        {"image": "3.jpg", "tags": []},
        {"image": "4.jpg", "tags": []},
        {"image": "5.jpg", "tags": [["tree", 0.5]]},
    ]
    assert "6 tags (nouns, alpha 0.5) of 5 images, 1.2 each; 2 without a noun; written to" in shown


def test_compounds_as_a_table_with_the_paper_s_alpha(pets: str, tmp_path: Path) -> None:
    out = tmp_path / "tags.csv"
    report = json.loads(said("rank_tags", pets, "--tags", "compounds", "--out", out, "--json"))
    assert (report["alpha"], report["tags"], report["file"]) == (0.0, 5, str(out))
    with out.open(newline="") as stream:
        assert list(csv.reader(stream)) == [
            ["image", "tag", "score"],
            ["1.jpg", "dog", "0.333333"],
            ["2.jpg", "dog", "0.75"],
            ["2.jpg", "boy", "0.666667"],
            ["2.jpg", "soccer field", "0.0"],
            ["5.jpg", "tree", "0.0"],
        ]


def test_without_a_file_lines_alone_go_to_standard_output(
    pets: str, capfd: pytest.CaptureFixture[str]
) -> None:
    call_command("rank_tags", pets)
    shown = capfd.readouterr()
    assert [json.loads(line)["image"] for line in shown.out.splitlines()] == [f"{n}.jpg" for n in range(1, 6)]
    assert "6 tags (nouns, alpha 0.75) of 5 images" in shown.err


@pytest.mark.parametrize(
    ("corpus", "options", "says"),
    [
        ("pets", ("--alpha", "1.5"), r"alpha is 1\.5; expected 0 .* to 1"),
        ("pets", ("--alpha", "nan"), "alpha is nan"),
        ("nobody", (), "unknown corpus 'nobody'; known: pets"),
        ("pets", ("--tags", "verbs"), "invalid choice: 'verbs'"),
        ("pets", ("--json",), "--json reports on a file; name one with --out"),
    ],
)
def test_what_cannot_be_is_one_line(pets: str, corpus: str, options: tuple[str, ...], says: str) -> None:
    with pytest.raises(CommandError, match=says):
        said("rank_tags", corpus, *options)


def test_a_file_that_is_there_is_kept(pets: str, tmp_path: Path) -> None:
    out = tmp_path / "tags.jsonl"
    out.write_text("mine")
    with pytest.raises(CommandError, match="already exists; expected a new file"):
        said("rank_tags", pets, "--out", out)
    assert out.read_text() == "mine"
    with pytest.raises(CommandError):
        said("rank_tags", pets, "--out", tmp_path / "none" / "tags.jsonl")
    assert [file.name for file in tmp_path.iterdir()] == ["tags.jsonl"]


def test_progress_is_told_and_images_come_one_at_a_time(pets: str) -> None:
    told: list[tuple[str, int, int]] = []
    found = rank_tags(TagsRequest(pets), progress=lambda *one: told.append(one))
    assert (next(found).image, told) == ("1.jpg", [("ranking tags", 0, 5)])
    assert len(list(found)) == 4
    assert told[-1] == ("ranking tags", 5, 5)


def test_real_captions_rank_as_in_a_slow_reading(real_data: Path) -> None:
    """A hundred images with their five captions; a thousand, in a thorough run, take ten seconds."""
    images: dict[str, list[str]] = defaultdict(list)
    with (real_data / "flickr8k" / "Flickr8k.token.txt").open(encoding="utf-8") as stream:
        for line in stream:
            name, _, text = line.partition("\t")
            images[name.partition("#")[0]].append(text.strip())
    lemmatiser, chunker = Lemmatiser(), NounPhraseChunker()
    alpha = Fraction(1, 4)
    for name in random.Random(0).sample(sorted(images), sized(100, 1_000)):
        own, plain = [], []
        for tokens in map(tokenise, images[name]):
            words, phrases = lemmatiser.every_token(tokens), chunker.chunk(tokens)
            own.append(tags_in_caption(words, phrases))
            inside = {at for phrase in phrases for at in range(*phrase)}
            plain.append(
                tuple(
                    word if at in inside and carries_content(word.lemma) else Word(word.lemma, OTHER_PART)
                    for at, word in enumerate(words)
                )
            )
        expected = read_slowly(plain, alpha)
        found = ranked_tags(own, float(alpha))
        assert [tag for tag, _ in found] == sorted(expected, key=lambda tag: (-expected[tag], tag))
        assert dict(found) == pytest.approx({tag: float(score) for tag, score in expected.items()})


def test_mentions_of_a_layer_are_the_noun_phrases(db: None, tmp_path: Path) -> None:
    tokens = ("A", "dog", "on", "a", "soccer", "field", ".")
    said_of = [CaptionRecord(" ".join(tokens), tokens), CaptionRecord("The dog .", ("The", "dog", "."))]
    field = Mention(0, 3, 6, tokens[3:6], ("scene",))
    records = [
        ImageRecord("1", "1.jpg", tuple(said_of), layer=LayerRecord((Chain("1", (field,)),))),
        ImageRecord("2", "2.jpg", tuple(said_of[:1])),
    ]
    import_records(name="marked", records=records, format="jsonl", source="memory")
    layer = Corpus.objects.get(name="marked").layers.get().name
    found = list(rank_tags(TagsRequest("marked", alpha=0.0, layer=layer)))
    assert [one.tags for one in found] == [[("soccer", pytest.approx(1 / 6)), ("field", 0)], []]
    found = list(rank_tags(TagsRequest("marked", alpha=0.0)))
    assert [[tag for tag, _ in one.tags] for one in found] == [["dog", "soccer", "field"]] * 2
    with pytest.raises(CommandError, match="unknown layer 'mine'"):
        said("rank_tags", "marked", "--layer", "mine")
    with pytest.raises(CommandError, match="0 processes; expected 1 or more"):
        said("rank_tags", "marked", "--processes", 0)


def many_images() -> list[list[CaptionToRead]]:
    """A thousand images, each with its own number of dogs and cats."""
    texts = ("A dog .", "A cat sees a dog .")
    return [[CaptionToRead(tokenise(texts[n % 2]))] * (1 + n % 3) for n in range(1000)]


def test_several_readers_give_the_same_in_the_same_order_and_read_little_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Threads, which start faster, in the place of processes."""
    monkeypatch.setattr(reading, "ProcessPoolExecutor", lambda number, mp_context: ThreadPoolExecutor(number))
    taken: list[int] = []

    def images() -> Iterator[list[CaptionToRead]]:
        for number, own in enumerate(many_images()):
            taken.append(number)
            yield own

    found = read_ranked_tags(images(), "nouns", 0.5, processes=2)
    first = [next(found)]
    assert len(taken) < 800, "memory does not grow with the corpus"
    assert first + list(found) == list(read_ranked_tags(many_images(), "nouns", 0.5))


@pytest.mark.slow
def test_processes_give_the_same_as_one() -> None:
    """Two fresh processes import numpy and HanTa: four seconds."""
    whole = list(read_ranked_tags(many_images(), "compounds", 0.0))
    assert list(read_ranked_tags(many_images(), "compounds", 0.0, processes=2)) == whole
