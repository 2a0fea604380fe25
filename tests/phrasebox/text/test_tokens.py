"""Captions are tokenized like the Flickr30k captions."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasebox.text.tokens import tokenise


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Two dogs run to the store.", "Two dogs run to the store ."),
        ("A man's dog doesn't sit, it runs!", "A man 's dog does n't sit , it runs !"),
        ("The girls' team won't stop (they're tired).", "The girls ' team wo n't stop ( they 're tired ) ."),
        ('A sign says "Stop here."', 'A sign says " Stop here . "'),
        ("Mr. Smith visits L.A. at 9 a.m. in a t-shirt", "Mr. Smith visits L.A. at 9 a.m. in a t-shirt"),
        ("He waits... and waits -- 50% longer", "He waits ... and waits -- 50 % longer"),
        ("A man selling 1,000 coats/hats for $5", "A man selling 1,000 coats/hats for $ 5"),
    ],
)
def test_text_is_cut_as_the_penn_treebank_cuts_it(text, tokens):
    assert tokenise(text) == tuple(tokens.split())


def test_text_that_is_cut_already_stays_as_it_is():
    cut = "A man 's dog , in a `` t-shirt '' , does n't ( ca n't ) run ; it 's 50 % of $ 5 -- wow !"
    assert tokenise(cut) == tuple(cut.split())


def test_nothing_gives_nothing():
    assert tokenise(" \t\n") == ()


@given(st.text())
def test_no_character_is_lost_or_added(text):
    assert "".join(tokenise(text)) == "".join(text.split())


@given(st.text(alphabet="aAnts 'n’\".,-!?()$%/&1", max_size=30))
def test_cutting_twice_is_cutting_once(text):
    tokens = tokenise(text)
    assert tokenise(" ".join(tokens)) == tokens


def test_the_real_validation_captions_stay_as_they_are(real_data):
    images = json.loads((real_data / "flickr30k" / "validation.json").read_text("utf-8"))
    captions = [caption for texts in images.values() for caption in texts[:5]]
    changed = [c for c in captions if tokenise(c) != tuple(c.split())]
    assert len(captions) == 5000
    assert len(changed) <= 5, changed
