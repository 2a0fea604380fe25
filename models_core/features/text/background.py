"""A background text as sentences of lemmas: what "BNC" is in print, and any text is here."""

from collections.abc import Iterable, Sequence
from importlib.metadata import version

from models_core.features.text.lemmas import Lemmatiser
from models_core.features.text.tokens import tokenise
from models_core.phase_cache import PhaseArrays, PhaseCache, digest_of_parts, from_json_array, to_json_array

_TOGETHER = 200  # sentences between two words of progress


def without_captions(sentences: Sequence[str], captions: Iterable[str]) -> list[str]:
    """The sentences that are none of the captions, in order.

    Compared are words in lower case as `tokenise` cuts them, punctuation left out. A sentence without
    words stays.
    """
    said = [_words(sentence) for sentence in sentences]
    asked = {words for words in said if words}
    known = {words for caption in captions if (words := _words(caption)) in asked}
    return [sentence for sentence, words in zip(sentences, said, strict=True) if words not in known]


def _words(text: str) -> tuple[str, ...]:
    return tuple(token for token in tokenise(text.lower()) if any(map(str.isalnum, token)))


def read_sentences(sentences: Sequence[str], *, kept: PhaseCache) -> list[tuple[str, ...]]:
    """The content lemmas of each sentence, in order. Raises ValueError where no sentence has a word."""
    phase = "reading the background text"

    def read() -> PhaseArrays:
        lemmatiser = Lemmatiser()
        found = []
        for place, sentence in enumerate(sentences):
            if place % _TOGETHER == 0:
                kept.progress(phase, place, len(sentences))
            found.append(lemmatiser.content(sentence))
        return {"sentences": to_json_array(found)}

    facts = {"text": digest_of_parts(list(sentences)), "HanTa": version("HanTa")}
    stored = kept.arrays(phase, facts, read)["sentences"]
    found = [tuple(words) for words in from_json_array(stored)]
    if not any(found):
        raise ValueError(f"the background text has no words in {len(sentences)} sentences")
    return found
