"""A background text as sentences of lemmas: "BNC" in the paper, any text here."""

from collections.abc import Iterable, Sequence
from importlib.metadata import version

from models_core.features.text.lemmas import Lemmatiser
from models_core.phase_cache import PhaseArrays, PhaseCache, digest_of_parts, from_json_array, to_json_array
from phrasebox.text.tokens import tokenise

_TOGETHER = 200  # sentences between two progress reports


def without_captions(sentences: Sequence[str], captions: Iterable[str]) -> list[str]:
    """Return the sentences that are none of the captions, in order.

    The comparison uses the words of `tokenise` in lower case, without punctuation. A sentence without words
    stays.
    """
    words_of_sentences = [_words(sentence) for sentence in sentences]
    words_of_captions = {words for words in words_of_sentences if words}
    known = {words for caption in captions if (words := _words(caption)) in words_of_captions}
    return [
        sentence for sentence, words in zip(sentences, words_of_sentences, strict=True) if words not in known
    ]


def _words(text: str) -> tuple[str, ...]:
    return tuple(token for token in tokenise(text.lower()) if any(map(str.isalnum, token)))


def read_sentences(sentences: Sequence[str], *, cache: PhaseCache) -> list[tuple[str, ...]]:
    """Return the content lemmas of each sentence, in order. Raises ValueError if no sentence has a word."""
    phase = "reading the background text"

    def read() -> PhaseArrays:
        lemmatiser = Lemmatiser()
        sentences_read = []
        for index, sentence in enumerate(sentences):
            if index % _TOGETHER == 0:
                cache.progress(phase, index, len(sentences))
            sentences_read.append(lemmatiser.content(sentence))
        return {"sentences": to_json_array(sentences_read)}

    provenance = {"text": digest_of_parts(list(sentences)), "HanTa": version("HanTa")}
    stored = cache.arrays(phase, provenance, read)["sentences"]
    sentences_read = [tuple(words) for words in from_json_array(stored)]
    if not any(sentences_read):
        raise ValueError(f"the background text has no words in {len(sentences)} sentences")
    return sentences_read
