"""The words of the COCO evaluation: recorded output of its tokenizer, and the tokenizer itself if Java is
available."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

from phrasebox.metrics.ptb import ptb_words

#: Hard cases, with the words of Stanford's tokenizer and the COCO evaluation's list of marks.
CASES = [
    tuple(line.split("\t"))
    for line in Path(__file__).with_name("ptb_cases.tsv").read_text(encoding="utf-8").splitlines()
]

#: Digest of the tokenizer's output for the 5,000 captions of Flickr8k's test images, one per line.
OF_TEST_IMAGES = "ff1fde549fc9a132e9cb87e4f85f830bdffac690fddaaa0f9cc6d531ae1ba6d9"

#: Texts of the pieces of the hard cases, in other orders.
TEXTS = st.lists(
    st.sampled_from(sorted({piece for text, _ in CASES for piece in text.split(" ")})), max_size=12
).map(" ".join)


@pytest.mark.parametrize(("text", "words"), CASES)
def test_hard_cases_have_the_words_of_stanfords_tokenizer(text: str, words: str) -> None:
    assert " ".join(ptb_words(text)) == words


@given(TEXTS)
def test_a_stop_at_the_end_capitals_and_decomposed_accents_change_no_word(text: str) -> None:
    words = ptb_words(text)
    assert ptb_words(f"{text} .") == words
    assert ptb_words(text.upper()) == words
    assert ptb_words(unicodedata.normalize("NFD", text)) == words


def _of_flickr8k(folder: Path, images: set[str] | None = None) -> list[str]:
    lines = (folder / "flickr8k" / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if "\t" in line]
    return [text for name, text in rows if images is None or name.partition("#")[0] in images]


def test_real_captions_have_the_words_of_stanfords_tokenizer(real_data: Path) -> None:
    images = set((real_data / "flickr8k" / "Flickr_8k.testImages.txt").read_text().split())
    words = [" ".join(ptb_words(text)) for text in _of_flickr8k(real_data, images)]
    assert len(words) == 5_000
    assert hashlib.sha256("\n".join(words).encode()).hexdigest() == OF_TEST_IMAGES


@pytest.mark.slow
def test_all_real_captions_have_the_words_of_stanfords_tokenizer(
    real_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of Flickr8k, of Flickr30k's validation images, and the hard cases."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dfile.encoding=UTF-8")
    validation = json.loads((real_data / "flickr30k" / "validation.json").read_text())
    texts = [
        *_of_flickr8k(real_data),
        *(text for captions in validation.values() for text in captions[:-1]),
        *(text.lower() for text, _ in CASES),
    ]
    theirs = PTBTokenizer().tokenize({0: [{"caption": text} for text in [*texts, "the last one"]]})[0]
    differing = [
        (text, words) for text, words in zip(texts, theirs, strict=False) if words.split() != ptb_words(text)
    ]
    assert len(texts) > 45_000 and differing == []
