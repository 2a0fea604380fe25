"""Layers: records written as rows and read again, replaced, refused, deleted."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.common import database
from annotation.common.locks import Busy, locked_folder
from annotation.datasets import layer_rows
from annotation.datasets.layer_rows import LayerError, LayerShare, remove_layer, write_layer
from annotation.models import Box, BoxChain, Chain, Corpus, Image, Layer, LayerImage, Mention
from annotation.protocol.boxes import EXCLUDED, REVIEW
from annotation.protocol.terms import (
    CATEGORIES,
    NOT_VISUAL,
    CaptionRecord,
    ImageRecord,
    LayerObject,
    LayerRecord,
)
from annotation.protocol.terms import Box as BoxRecord
from annotation.protocol.terms import Chain as ChainRecord
from annotation.protocol.terms import Mention as MentionRecord
from annotation.selectors import records as reading
from annotation.selectors.corpora import corpus_named, layer_named
from annotation.selectors.records import layer_of, stream_records
from phrasebox.errors import PhraseboxError
from phrasebox.registry import UnknownName
from phrasebox.text_files import FormatError
from tests.factories import HAT, MAN, STREET, a_corpus, a_layer, boxed, boxless, some_images

pytestmark = pytest.mark.django_db

LAYER_ROWS = (Layer, LayerImage, Chain, Mention, Box, BoxChain)


def rows() -> list[int]:
    return [model._default_manager.count() for model in LAYER_ROWS]


def write(corpus: Corpus, records, name: str = "gold", **more) -> Layer:
    return write_layer(corpus=corpus, name=name, source="gold", records=records, **more)


@pytest.fixture
def corpus() -> Corpus:
    return a_corpus("c", some_images(3, layered=False))


@st.composite
def layers(draw: st.DrawFn, captions: list[tuple[str, ...]]) -> LayerRecord:
    """Draw a layer in canonical order: spans nest and cross, chains lack mentions or boxes."""
    spans = [
        (c, s, e)
        for c, words in enumerate(captions)
        for s in range(len(words))
        for e in range(s + 1, len(words) + 1)
    ]
    chosen = draw(st.lists(st.sampled_from(spans), unique=True, max_size=12)) if spans else []
    held: dict[str, list[MentionRecord]] = {}
    for number, (caption, start, end) in enumerate(sorted(chosen)):
        categories = draw(
            st.lists(st.sampled_from([*CATEGORIES, "odd"]), min_size=1, max_size=3, unique=True)
        )
        label = draw(st.sampled_from(["7", "12", "x-1", NOT_VISUAL]))
        mention = MentionRecord(caption, start, end, captions[caption][start:end], tuple(categories))
        held.setdefault(f"{NOT_VISUAL}/{number}" if label == NOT_VISUAL else label, []).append(mention)
    chains = [ChainRecord(label.split("/")[0], tuple(mentions)) for label, mentions in held.items()]
    chains += [ChainRecord(label, ()) for label in draw(st.sampled_from([(), ("90",), ("90", "91")]))]
    named = st.sampled_from(["", "traffic light"]), st.sampled_from([(), ("a dog on it", "it")])
    chains = [
        chain if chain.id == NOT_VISUAL else replace(chain, label=draw(named[0]), phrases=draw(named[1]))
        for chain in chains
    ]
    visual = [chain.id for chain in chains if chain.id != NOT_VISUAL]
    objects: list[LayerObject] = []
    if visual:
        names = st.lists(st.sampled_from(visual), unique=True, min_size=1, max_size=3)
        side = st.tuples(st.integers(1, 250), st.integers(0, 249))
        for depicted, (x, wide), (y, high) in draw(st.lists(st.tuples(names, side, side), max_size=5)):
            objects.append(LayerObject(tuple(depicted), BoxRecord(x, y, x + wide, y + high)))
        for label in draw(st.lists(st.sampled_from(visual), unique=True)):
            objects.append(LayerObject((label,), scene=draw(st.booleans()), nobndbox=draw(st.booleans())))
        objects = draw(st.permutations(objects))
    return LayerRecord(tuple(chains), tuple(objects))


@st.composite
def corpora(draw: st.DrawFn) -> list[ImageRecord]:
    word = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=4)
    result = []
    for number in range(draw(st.integers(1, 4))):
        sentences = draw(st.lists(st.lists(word, min_size=1, max_size=6).map(tuple), max_size=3))
        result.append(
            ImageRecord(
                id=f"i{number}",
                filename=f"i{number}.jpg",
                captions=tuple(
                    CaptionRecord(
                        draw(st.sampled_from([" ", "  "])).join(words),
                        tokens=draw(st.sampled_from([None, words])),
                        unrelated=draw(st.booleans()),
                    )
                    for words in sentences
                ),
                split=draw(st.sampled_from(["", "train", "val"])),
                width=500,
                height=500,
                layer=draw(st.none() | layers(sentences)),
                external_id=draw(st.sampled_from(["", "cocoid 1"])),
            )
        )
    return result


fresh = count()


@given(corpora())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_give_back_every_record_as_it_was(records: list[ImageRecord]):
    corpus = a_corpus(f"any-{next(fresh)}", records)
    layer = layer_named(corpus)
    assert list(stream_records(corpus=corpus, layer=layer)) == records
    for image, record in zip(corpus.images.order_by("position"), records, strict=True):
        if layer:
            assert layer_of(image, layer) == (record.layer or LayerRecord())


def test_a_layer_is_written_over_part_of_a_corpus_with_its_settings_and_cost(corpus: Corpus):
    half = a_layer(f"{MAN} in a hat crosses the street .")
    cost: dict[str, object] = {}

    def records():
        yield ("1001", half)
        cost["images"] = 1  # only known at the end

    layer = write(corpus, records(), settings={"order": "likely_first"}, cost=cost)
    assert (layer.name, layer.source, layer.published) == ("gold", "gold", True)
    assert (layer.settings, layer.cost) == ({"order": "likely_first"}, {"images": 1})
    assert [r.layer for r in stream_records(corpus=corpus, layer=layer)] == [None, half, None]


def test_shares_may_come_in_any_order_and_carry_stages(corpus: Corpus):
    layer = write(
        corpus,
        [LayerShare("1002", a_layer(MAN), {"1": REVIEW}), ("1000", a_layer("[/EN#4/people A man]"))],
    )
    assert dict(Chain.objects.filter(layer=layer).values_list("key", "stage")) == {"1": REVIEW, "4": ""}


def test_what_was_excluded_is_plain_words_unless_asked_for(corpus: Corpus):
    record = a_layer(
        f"{MAN} in {HAT} crosses {STREET} .",
        objects=[
            boxed("1 2", 1, 1, 9, 9),
            boxed("2", 3, 3, 9, 9),
            boxless("3", scene=True),
            boxed("1", 2, 2, 9, 9),
        ],
    )
    layer = write(corpus, [LayerShare("1000", record, {"2": EXCLUDED})])
    image = Image.objects.get(key="1000")
    assert layer_of(image, layer, excluded=True) == record
    assert layer_of(image, layer) == a_layer(
        f"{MAN} in a hat crosses {STREET} .",
        objects=[boxed("1", 1, 1, 9, 9), boxless("3", scene=True), boxed("1", 2, 2, 9, 9)],
    )


def test_a_layer_of_that_name_stands_until_it_is_replaced(corpus: Corpus):
    first, second = a_layer(MAN), a_layer("[/EN#9/people A man in a hat]")
    write(corpus, [("1000", first)])
    before = rows()
    with pytest.raises(LayerError, match="has a layer 'gold' already; choose another name, or replace it"):
        write(corpus, [("1000", second)])
    assert rows() == before
    layer = write(corpus, [("1000", second)], replace=True)
    assert rows() == before
    assert [r.layer for r in stream_records(corpus=corpus, layer=layer)][0] == second
    assert [name for (name,) in corpus.layers.values_list("name")] == ["gold"]


def test_a_failed_replacement_leaves_the_old_layer(corpus: Corpus):
    def records():
        yield ("1000", a_layer("[/EN#9/people A man in a hat]"))
        raise RuntimeError("the crowd went home")

    write(corpus, [("1000", a_layer(MAN))])
    before = rows()
    with pytest.raises(RuntimeError):
        write(corpus, records(), replace=True)
    assert rows() == before
    assert layer_named(corpus, "gold") is not None


def test_what_a_killed_writer_left_is_swept_by_the_next(corpus: Corpus, monkeypatch: pytest.MonkeyPatch):
    def records():
        yield ("1000", a_layer(MAN))
        raise KeyboardInterrupt

    monkeypatch.setattr(layer_rows, "LAYER_IMAGES_PER_TRANSACTION", 1)
    with monkeypatch.context() as patch:
        patch.setattr(layer_rows, "remove_layer", lambda layer: None)
        with pytest.raises(KeyboardInterrupt):
            write(corpus, records())
    assert layer_named(corpus) is None
    assert Layer.objects.count() == 1
    write(corpus, [("1001", a_layer(MAN))])
    assert rows() == [1, 1, 1, 1, 0, 0]


def test_two_writers_of_one_layer_do_not_meet(corpus: Corpus):
    with (
        locked_folder("layer.c.gold", busy=""),
        pytest.raises(Busy, match="'gold' of corpus 'c' is being written"),
    ):
        write(corpus, [("1000", a_layer(MAN))])
    write(corpus, [("1000", a_layer(MAN))])


@pytest.mark.parametrize(
    ("records", "error", "problem"),
    [
        ([("77", a_layer(MAN))], LayerError, "image '77' is not in corpus 'c'"),
        ([("1000", a_layer(MAN)), ("1000", a_layer(MAN))], LayerError, "image '1000' comes twice"),
        ([("1000", a_layer(HAT))], FormatError, "layer gold: image '1000': mention 0:0-2 'a hat' is not"),
        (
            [("1000", a_layer(MAN, objects=[boxed("1", 1, 1, 9, 376)]))],
            FormatError,
            "1,1,9,376 reaches outside",
        ),
    ],
)
def test_records_that_do_not_fit_are_refused_whole(corpus: Corpus, records, error, problem):
    before = rows()
    with pytest.raises(error, match=problem):
        write(corpus, [("1001", a_layer(MAN)), *records])
    assert rows() == before


@pytest.mark.parametrize("name", ["", "two words", "x" * 91, "gold~new"])
def test_a_layer_name_that_is_none_is_refused(corpus: Corpus, name: str):
    with pytest.raises(LayerError, match="expected letters, digits, hyphens or underscores, at most 90"):
        write(corpus, [], name=name)


def test_removing_a_layer_takes_its_rows_and_no_others(corpus: Corpus, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(database, "ROWS_PER_TRANSACTION", 2)
    other_corpus = a_corpus("other", some_images(5))
    before = rows()
    layer = write(corpus, [(r.id, r.layer) for r in some_images(3) if r.layer])
    assert rows() != before
    remove_layer(layer)
    assert rows() == before
    assert layer_named(other_corpus) is not None


def test_reading_costs_the_same_number_of_queries_whatever_a_page_holds(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries
):
    monkeypatch.setattr(reading, "RECORDS_PER_QUERY", 10)
    corpus = a_corpus("c", some_images(30))
    layer = layer_named(corpus)
    with django_assert_num_queries(3 * 7 + 1):
        assert len(list(stream_records(corpus=corpus, layer=layer))) == 30
    with django_assert_num_queries(3 * 3 + 1):
        list(stream_records(corpus=corpus))


def test_reading_starts_before_the_corpus_is_read(monkeypatch: pytest.MonkeyPatch, django_assert_num_queries):
    monkeypatch.setattr(reading, "RECORDS_PER_QUERY", 2)
    corpus = a_corpus("c", some_images(30))
    with django_assert_num_queries(3):
        assert next(stream_records(corpus=corpus)).id == "1000"


def test_one_split_can_be_read():
    corpus = a_corpus("c", some_images(4))
    assert [r.id for r in stream_records(corpus=corpus, split="train")] == ["1001", "1003"]
    assert list(stream_records(corpus=corpus, split="val")) == []


def test_corpora_and_layers_are_found_by_name(corpus: Corpus):
    assert corpus_named("c") == corpus
    assert layer_named(corpus) is None
    write(corpus, [("1000", a_layer(MAN))])
    assert layer_named(corpus) == layer_named(corpus, "gold")
    write(corpus, [], name="crowd")
    with pytest.raises(PhraseboxError, match="corpus 'c' has several layers; name one of: crowd, gold"):
        layer_named(corpus)
    with pytest.raises(UnknownName, match="unknown layer 'x' of corpus 'c'; known: crowd, gold"):
        layer_named(corpus, "x")
    with pytest.raises(UnknownName, match="unknown corpus 'd'"):
        corpus_named("d")
