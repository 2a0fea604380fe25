"""Statistics of captions: the figures that Hodosh et al. print of their corpora.

Hodosh et al. 2013, section 2.3: the mean length, the share of captions without a verb, and of those whose
only verbs are *sit*, *stand*, *wear* or *look*. Where the paper leaves a choice open:

- Lengths are in tokens, with punctuation, under which the printed mean of Flickr8k comes out.
- Verbs are what our tagger calls a verb or a participle, outside noun phrases ("a parked car" has none),
  except forms of *be*, *have* and *do*.
- Captions of an image agree as far as they share words: the mean over pairs of its captions of the Jaccard
  coefficient of their words' stems.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from annotation.protocol.chunker.chunking import phrases_in
from annotation.protocol.chunker.tagging import VERB_FORMS, CaptionTagger, Tagger
from phrasebox.text.stems import stems

_AUXILIARIES = frozenset("be is are was were been being am 's 're have has had having do does did".split())
_STATIC = frozenset(
    "sit sits sat sitting seated stand stands stood standing wear wears wore worn wearing "
    "look looks looked looking".split()
)
#: Figures of Flickr8k in Hodosh et al. 2013, section 2.3, under the names of `CaptionFigures`.
PRINTED_OF_CAPTIONS = {"tokens": 11.8, "without_verb": 0.11, "static_verbs": 0.10}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionFigures:
    """Images and captions; tokens per caption: mean, least, most; distinct words in lower case; shares of
    captions without a verb and with static verbs alone; and how far captions of an image agree, from 0 to 1.
    None where nothing was counted."""

    images: int
    captions: int
    tokens: float | None
    shortest: int | None
    longest: int | None
    vocabulary: int
    without_verb: float | None
    static_verbs: float | None
    overlap: float | None


class CaptionStatistics:
    """Counts captions, image by image."""

    def __init__(self, tagger: Tagger | None = None) -> None:
        self._tagger = tagger if tagger is not None else CaptionTagger()
        self._lengths: Counter[int] = Counter()
        self._vocabulary: set[str] = set()
        self._overlaps: list[float] = []
        self.images = self.without_verb = self.static_verbs = 0

    def add(self, captions: Sequence[Sequence[str]]) -> None:
        """Add the captions of an image, each as its words."""
        self.images += 1
        of_image = []
        for tokens in captions:
            words = [token.lower() for token in tokens if any(map(str.isalnum, token))]
            self._lengths[len(tokens)] += 1
            self._vocabulary.update(words)
            of_image.append(frozenset(stems(words)))
            verbs = self._verbs(tokens)
            self.without_verb += not verbs
            self.static_verbs += bool(verbs) and verbs <= _STATIC
        pairs = [len(a & b) / len(a | b) for a, b in combinations(of_image, 2) if a | b]
        if pairs:
            self._overlaps.append(fmean(pairs))

    def _verbs(self, tokens: Sequence[str]) -> set[str]:
        letters = self._tagger.tag(tokens)
        within = {index for start, end in phrases_in(letters) for index in range(start, end)}
        verbs = {
            tokens[index].lower()
            for index, letter in enumerate(letters)
            if letter in VERB_FORMS and index not in within
        }
        return verbs - _AUXILIARIES

    def figures(self) -> CaptionFigures:
        """Return the figures; None where nothing was counted."""
        number = self._lengths.total()
        tokens = sum(length * times for length, times in self._lengths.items())
        return CaptionFigures(
            images=self.images,
            captions=number,
            tokens=tokens / number if number else None,
            shortest=min(self._lengths, default=None),
            longest=max(self._lengths, default=None),
            vocabulary=len(self._vocabulary),
            without_verb=self.without_verb / number if number else None,
            static_verbs=self.static_verbs / number if number else None,
            overlap=fmean(self._overlaps) if self._overlaps else None,
        )
