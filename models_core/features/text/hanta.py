"""HanTa's English model (Wartena, "The Hanover Tagger", 2019), loaded once per process in a tenth of a
second.

The possible parts of speech of a word depend on the word alone, and captions have few different words: each
word is looked up once.
"""

from functools import cache, lru_cache

from HanTa.HanoverTagger import HanoverTagger

_REMEMBERED = 2**16  # size of the cache of words


@cache
def english_tagger() -> HanoverTagger:
    """Return the model, which tags and lemmatises. It is shared, so callers must not change it."""
    tagger = HanoverTagger("morphmodel_en.pgz")
    tagger.analyze_forward = lru_cache(_REMEMBERED)(tagger.analyze_forward)
    return tagger
