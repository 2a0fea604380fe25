"""HanTa's English model (Wartena, "The Hanover Tagger", 2019), loaded once a process, in a tenth of a second.

What parts of speech a word can have depends on the word alone, and captions have few different ones: each
word is looked up once.
"""

from functools import cache, lru_cache

from HanTa.HanoverTagger import HanoverTagger

_REMEMBERED = 2**16  # words, the last that were looked up


@cache
def english_tagger() -> HanoverTagger:
    """The model, which tags and lemmatises. Nobody may change it: all share one."""
    tagger = HanoverTagger("morphmodel_en.pgz")
    tagger.analyze_forward = lru_cache(_REMEMBERED)(tagger.analyze_forward)
    return tagger
