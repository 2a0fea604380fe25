"""Misspelt words, as requested by the page of captions."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from annotation.api import tasks as api
from annotation.management.commands import serve
from annotation.models import Campaign
from annotation.selectors import spelling
from annotation.task_types.caption_writing.rules import CORRECT
from annotation.task_types.caption_writing.type import LONGEST_CAPTION
from annotation.workers import rate_limit
from tests.api.conftest import Program
from tests.factories import a_corpus, an_image
from tests.web import world as web


def words(text: str, **also: int) -> list[str]:
    return [unknown.word for unknown in spelling.misspelt_words(text, **also)]


@pytest.mark.parametrize("sentence", CORRECT)
def test_sentences_that_are_well_written_are_left_alone(sentence: str):
    assert words(sentence) == []


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("waitting", "waiting"),
        ("helmit", "helmet"),
        ("gutiar", "guitar"),
        ("childern", "children"),
        ("bycicle", "bicycle"),
        ("tehre", "there"),
    ],
)
def test_a_misspelt_word_comes_with_what_was_meant(written: str, meant: str):
    (unknown,) = spelling.misspelt_words(f"Somebody with a {written} .")
    assert unknown.word == written
    assert unknown.suggestions[0] == meant


def test_a_capital_at_the_beginning_stays_and_within_a_sentence_is_a_name():
    assert spelling.misspelt_words("Childern play.")[0].suggestions[0] == "Children"
    assert spelling.misspelt_words("They sit. Childern play.")[0].word == "Childern"
    assert words("A man in a Qwertex shirt, BMX 4x4 and a xyzzy2.") == []


def test_each_word_is_named_once_and_possessives_and_hyphens_are_no_mistakes():
    assert words("A gutiar beside a gutiar.") == ["gutiar"]
    assert words("It isn't the dog’s well-worn T-shirt; it's the runner's.") == []


def test_no_text_keeps_the_machine_busy():
    """Words that are near nothing get no suggestions, and of many only the first ones get any."""
    many = [f"gutiar{letter}qx" for letter in "abcdefghijkl"]
    result = spelling.misspelt_words(" ".join(many) + " " + "q" * 300)
    assert [unknown.word for unknown in result] == [*many, "q" * 300]
    assert not any(unknown.suggestions for unknown in result[spelling.SUGGESTED_WORDS :])


@pytest.mark.django_db
def test_the_dictionary_is_loaded_at_the_start_where_a_campaign_asks_for_sentences():
    spelling._speller.cache_clear()
    spelling._by_length.cache_clear()
    serve._load_dictionary()
    assert not spelling.is_needed() and not spelling._speller.cache_info().currsize
    corpus = a_corpus("quay", [an_image("i", "A boy .", layered=False)])
    for tasks, needed in (("regions", False), ("captions", True)):
        Campaign.objects.create(name=tasks, corpus=corpus, tasks=tasks, state=Campaign.OPEN)
        assert spelling.is_needed() == needed
    serve._load_dictionary()
    assert spelling._speller.cache_info().currsize == 1
    Campaign.objects.update(state=Campaign.CLOSED)
    assert not spelling.is_needed()


@pytest.mark.django_db
def test_words_that_a_corpus_often_has_are_known_there():
    images = [
        an_image(f"i{n}", "Boys play cornhole .", "A wakeboarder ." if n else "A boy .", layered=False)
        for n in range(3)
    ]
    corpus = a_corpus("quay", images)
    spelling.corpus_words.cache_clear()
    assert words("A wakeboarder plays cornhole.") == ["wakeboarder", "cornhole"]
    assert words("A wakeboarder plays cornhole.", corpus=corpus.pk) == ["wakeboarder"]


def test_the_api_names_unknown_words_with_suggestions(ann: Program):
    spelling.corpus_words.cache_clear()
    status, text = ann.post("/api/spelling", {"text": "Two peopel walk.", "campaign": "quay"})
    assert (status, text["unknown"][0]["word"]) == (200, "peopel")
    assert "people" in text["unknown"][0]["suggestions"]
    assert ann.post("/api/spelling", {"text": "Two people walk.", "campaign": "nonesuch"})[1] == {
        "unknown": []
    }
    assert ann.post("/api/spelling", {"text": "Two people walk.", "campaign": "none\0such"})[0] == 400


def test_words_of_a_corpus_are_known_to_those_alone_who_may_work_on_it(ann: Program):
    """Else one word after the other would tell what somebody else's captions say."""
    images = [an_image(f"i{n}", "Boys play cornhole .", layered=False) for n in range(3)]
    theirs = Campaign.objects.create(
        name="theirs", corpus=a_corpus("boats", images), tasks="captions", state=Campaign.OPEN
    )
    form_data = {"text": "They play cornhole.", "campaign": "theirs"}
    spelling.corpus_words.cache_clear()
    assert [item["word"] for item in ann.post("/api/spelling", form_data)[1]["unknown"]] == ["cornhole"]
    Campaign.objects.filter(pk=theirs.pk).update(open_to_all=True)
    assert ann.post("/api/spelling", form_data)[1] == {"unknown": []}


def test_the_api_takes_a_text_of_a_captions_length_from_annotators_only(ann: Program):
    for item in ({}, {"text": 7}, {"text": "a" * (LONGEST_CAPTION + 1)}):
        status, text = ann.post("/api/spelling", item)
        assert (status, text["code"], text["field"]) == (400, "bad_request", "text")
    assert ann.get("/api/spelling")[0] == 405
    reader = Program(web.account("rita", "researcher"))
    assert reader.post("/api/spelling", {"text": "Hello"})[0] == 403
    answer = Client().post("/api/spelling", json.dumps({"text": "Hello"}), content_type="application/json")
    assert answer.status_code == 401


def test_who_asks_too_often_waits(ann: Program, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(api, "LOOKS", rate_limit.Limit("spelling", 2, 60))
    for _ in range(2):
        assert ann.post("/api/spelling", {"text": "Hello"})[0] == 200
    status, text = ann.post("/api/spelling", {"text": "Hello"})
    assert (status, text["code"]) == (429, "too_often")
