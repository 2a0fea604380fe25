"""The command rank_tags, and the tags of real captions compared with a direct implementation of the
equations."""

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
from django.core.management import CommandError

from annotation.datasets.importing import import_records
from annotation.models import Corpus, TagList
from annotation.protocol.chunker.chunking import NounPhraseChunker
from annotation.protocol.terms import CaptionRecord, Chain, ImageRecord, LayerRecord, Mention
from evaluation.formats.conllu import ParsedSentence
from evaluation.services.tags import reading
from evaluation.services.tags.ranked import TagsRequest, tags_of_images
from evaluation.services.tags.reading import CaptionToRead, parsed_locations, read_ranked_tags
from models_core.features.text.lemmas import OTHER_PART, Lemmatiser, Word, carries_content
from models_core.features.text.tags import ranked_tags, tags_in_caption
from phrasebox.text.tokens import tokenise
from tests.evaluation.database.conftest import output_of
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
    output_of("export_ranked_tags", pets, "--alpha", "0.5", "--out", out)
    assert lines_of(out) == [
        {"image": "1.jpg", "tags": [["dog", 0.666667]]},
        # boy: 2 of 5 nouns, second of six words; dog first of four; soccer 5th, field 6th of six
        {"image": "2.jpg", "tags": [["boy", 0.533333], ["dog", 0.475], ["soccer", 0.183333], ["field", 0.1]]},
        {"image": "3.jpg", "tags": []},
        {"image": "4.jpg", "tags": []},
        {"image": "5.jpg", "tags": [["tree", 0.5]]},
    ]


def test_compounds_as_a_table_with_the_paper_s_alpha(pets: str, tmp_path: Path) -> None:
    out = tmp_path / "tags.csv"
    output_of("export_ranked_tags", pets, "--unit", "compounds", "--layout", "csv", "--out", out)
    with out.open(newline="") as stream:
        assert list(csv.reader(stream)) == [
            ["image", "tag", "score"],
            ["1.jpg", "dog", "0.333333"],
            ["2.jpg", "dog", "0.75"],
            ["2.jpg", "boy", "0.666667"],
            ["2.jpg", "soccer field", "0.0"],
            ["5.jpg", "tree", "0.0"],
        ]


@pytest.mark.parametrize(
    ("corpus", "options", "says"),
    [
        ("pets", ("--alpha", "1.5"), "--alpha: Expected 1.0 or less."),
        ("pets", ("--alpha", "nan"), "--alpha: Expected a number."),
        ("nobody", (), "There is no corpus “nobody” here; known: pets."),
        ("pets", ("--unit", "verbs"), "--unit: Expected one of"),
    ],
)
def test_what_cannot_be_is_one_line(pets: str, corpus: str, options: tuple[str, ...], says: str) -> None:
    with pytest.raises(CommandError, match=says):
        output_of("rank_tags", corpus, *options)


def test_a_file_that_is_there_is_kept(pets: str, tmp_path: Path) -> None:
    out = tmp_path / "tags.jsonl"
    out.write_text("mine")
    with pytest.raises(CommandError, match="already exists; expected a new file"):
        output_of("export_ranked_tags", pets, "--out", out)
    assert out.read_text() == "mine"
    with pytest.raises(CommandError):
        output_of("export_ranked_tags", pets, "--out", tmp_path / "none" / "tags.jsonl")
    assert [file.name for file in tmp_path.iterdir()] == ["tags.jsonl"]


def test_progress_is_told_and_images_come_one_at_a_time(pets: str) -> None:
    messages: list[tuple[str, int, int]] = []
    tags = tags_of_images(TagsRequest(corpus=pets), progress=lambda *item: messages.append(item))
    assert (next(tags).image, messages) == ("1.jpg", [("ranking tags", 0, 5)])
    assert len(list(tags)) == 4
    assert messages[-1] == ("ranking tags", 5, 5)


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
        values, plain_value = [], []
        for tokens in map(tokenise, images[name]):
            words, phrases = lemmatiser.every_token(tokens), chunker.chunk(tokens)
            values.append(tags_in_caption(words, phrases))
            inside = {at for phrase in phrases for at in range(*phrase)}
            plain_value.append(
                tuple(
                    word if at in inside and carries_content(word.lemma) else Word(word.lemma, OTHER_PART)
                    for at, word in enumerate(words)
                )
            )
        expected = read_slowly(plain_value, alpha)
        result = ranked_tags(values, float(alpha))
        assert [tag for tag, _ in result] == sorted(expected, key=lambda tag: (-expected[tag], tag))
        assert dict(result) == pytest.approx({tag: float(score) for tag, score in expected.items()})


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
    tags = list(tags_of_images(TagsRequest(corpus="marked", alpha=0.0, layer=layer)))
    assert [row.tags for row in tags] == [[("soccer", pytest.approx(1 / 6)), ("field", 0)], []]
    tags = list(tags_of_images(TagsRequest(corpus="marked", alpha=0.0)))
    assert [[tag for tag, _ in row.tags] for row in tags] == [["dog", "soccer", "field"]] * 2
    with pytest.raises(CommandError, match="There is no layer “mine” here"):
        output_of("rank_tags", "marked", "--layer", "mine")
    with pytest.raises(CommandError, match="--processes: Expected 1 or more."):
        output_of("export_ranked_tags", "marked", "--processes", 0, "--out", tmp_path / "none.jsonl")


def many_images() -> list[list[CaptionToRead]]:
    """Return a thousand images, each with its own number of dogs and cats."""
    texts = ("A dog .", "A cat sees a dog .")
    return [[CaptionToRead(tokenise(texts[n % 2]))] * (1 + n % 3) for n in range(1000)]


def test_several_readers_give_the_same_in_the_same_order_and_read_little_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Threads, which start faster, in the place of processes."""
    monkeypatch.setattr(
        reading, "ProcessPoolExecutor", lambda number, **of_processes: ThreadPoolExecutor(number)
    )
    taken: list[int] = []

    def images() -> Iterator[list[CaptionToRead]]:
        for number, many_image in enumerate(many_images()):
            taken.append(number)
            yield many_image

    result = read_ranked_tags(images(), "nouns", 0.5, processes=2)
    first = [next(result)]
    assert len(taken) < 800, "memory does not grow with the corpus"
    assert first + list(result) == list(read_ranked_tags(many_images(), "nouns", 0.5))


@pytest.mark.slow
def test_processes_give_the_same_as_one() -> None:
    """Two fresh processes import numpy and HanTa: four seconds."""
    whole = list(read_ranked_tags(many_images(), "compounds", 0.0))
    assert list(read_ranked_tags(many_images(), "compounds", 0.0, processes=2)) == whole


PARSES = """\
# sent_id = 1.jpg#0
1\tThe\t_\t_\t_\t_\t2\tdet\t_\t_
2\tdog\t_\t_\t_\t_\t3\tnsubj\t_\t_
3\tbites\t_\t_\t_\t_\t0\troot\t_\t_
4\t.\t_\t_\t_\t_\t3\tpunct\t_\t_

# sent_id = 2.jpg#0
1\tA\t_\t_\t_\t_\t2\tdet\t_\t_
2\tboy\t_\t_\t_\t_\t0\troot\t_\t_
3\ton\t_\t_\t_\t_\t6\tcase\t_\t_
4\ta\t_\t_\t_\t_\t6\tdet\t_\t_
5\tsoccer\t_\t_\t_\t_\t6\tcompound\t_\t_
6\tfield\t_\t_\t_\t_\t2\tnmod\t_\t_
7\t.\t_\t_\t_\t_\t2\tpunct\t_\t_
"""


def test_tags_are_placed_by_the_trees_of_parses(pets: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="corpus 'pets' has no parses; import them as a CoNLL-U file"):
        output_of("rank_tags", pets, "--placed-by", "tree")
    (tmp_path / "p.conllu").write_text(PARSES, encoding="utf-8")
    output_of("import_parses", pets, tmp_path / "p.conllu")

    def placed(unit: str, alpha: str) -> dict[str, dict[str, float]]:
        out = tmp_path / f"{unit}-{alpha}.jsonl"
        output_of(
            "export_ranked_tags", pets, "--placed-by", "tree", "--unit", unit, "--alpha", alpha, "--out", out
        )
        return {line["image"]: dict(line["tags"]) for line in map(json.loads, out.read_text().splitlines())}

    # "dog": one of at most two edges from the root. "boy" is a root; field one of two edges, soccer two.
    nouns = placed("nouns", "0")
    assert nouns["1.jpg"] == {"dog": 0.5}
    # The second caption of image 2, and that of image 5, have no parse: their nouns only count for frequency.
    assert nouns["2.jpg"] == {"boy": 1.0, "field": 0.5, "soccer": 0.0, "dog": 0.0}
    assert nouns["5.jpg"] == {"tree": 0.0}
    assert placed("compounds", "0")["2.jpg"] == {"boy": 1.0, "soccer field": 0.5, "dog": 0.0}
    assert placed("nouns", "1")["2.jpg"] == {"boy": 0.4, "dog": 0.2, "field": 0.2, "soccer": 0.2}
    output_of("rank_tags", pets, "--placed-by", "tree")
    assert TagList.objects.get().placed_by == "tree"


def test_a_parse_that_cuts_words_otherwise_places_them_all_the_same() -> None:
    parse = ParsedSentence("x", ("two", "-", "year", "olds", "ca", "n't"), (4, 4, 4, 0, 4, 5), ("",) * 6)
    assert parsed_locations(("two-year", "olds", "can't"), parse) == [0.5, 0.0, 0.5]
    assert parsed_locations(("other", "words"), parse) == [1.0, 1.0]
    assert parsed_locations(("a", "``", "b"), None) == [1.0, 1.0, 1.0]
