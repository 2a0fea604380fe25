"""The stop list, compared with the list and the vocabulary of the real data."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from phrasebox.text.stopwords import STOP_WORDS


def test_it_is_the_classic_list(real_data: Path) -> None:
    published = (real_data / "flickr8k" / "stopwords_127.txt").read_text().split()
    assert frozenset(published) == STOP_WORDS
    assert len(STOP_WORDS) == 127


def test_without_it_the_training_captions_have_the_printed_vocabulary(real_data: Path) -> None:
    """Hodosh et al. 2013, section 3.5.3: 1,928 words that the lemmatised captions hold five times or more."""
    folder = real_data / "flickr8k"
    training = set((folder / "Flickr_8k.trainImages.txt").read_text().split())
    counts: Counter[str] = Counter()
    for line in (folder / "Flickr8k.lemma.token.txt").read_text().splitlines():
        key, text = line.split("\t")
        if key.split("#")[0] in training:
            counts.update(text.lower().split())
    words = [word for word, count in counts.items() if count >= 5 and any(map(str.isalnum, word))]
    assert len([word for word in words if word not in STOP_WORDS]) == 1928
