"""Lin's similarity of words over WordNet's noun hypernyms, with probabilities from a corpus.

    sim(s, t) = 2 log P(LCS(s, t)) / (log P(s) + log P(t))                               (eq. 22)

P(s) is the probability that a noun of the corpus means s or anything below it; each word means its first noun
sense. LCS is the common ancestor with the smallest P. Every word of the corpus that is a noun in WordNet
counts, whatever its tag ("swim" is one); this reproduces the printed figures.

In the word kernel, each word is the vector of its similarities to its own hypernyms, with 1 for itself (eq.
23; f there is P here), and the kernel is the cosine of two of them (eq. 18), which differs from eq. 22.

Source: Lin 1998; Hodosh et al. 2013, section 3.5.2, after Bloehdorn et al. 2006.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

import numpy as np

from models_core.features.text.wordnet import WordNet
from phrasebox.kernels.similarity import WordKernel
from phrasebox.lazy import sparse


class Lin:
    """Lin's similarity with the word counts of a corpus.

    `counts` are occurrences by lemma; words that are no nouns in WordNet are ignored. Raises ValueError if
    none is.
    """

    def __init__(self, wordnet: WordNet, counts: Mapping[str, int]) -> None:
        self._wordnet = wordnet
        self._above: dict[int, frozenset[int]] = {}
        #: Word to the offset of its first sense.
        self.senses: dict[str, int] = {}
        for word in counts:
            senses = wordnet.senses(word)
            if senses:
                self.senses[word] = senses[0].offset
        if not self.senses:
            raise ValueError(f"none of the corpus's {len(counts)} words is a noun of WordNet")
        total = sum(counts[word] for word in self.senses)
        of = Counter[int]()
        for word, sense in self.senses.items():
            for offset in self.ancestors(sense):
                of[offset] += counts[word]
        #: Synset to log P(s).
        self.information = {offset: log(count / total) for offset, count in of.items() if count}

    def ancestors(self, offset: int) -> frozenset[int]:
        """Return a synset and all its hypernyms, direct and inherited."""
        if offset not in self._above:
            hypernyms = self._wordnet.synset(offset).hypernyms
            self._above[offset] = frozenset((offset,)).union(*(self.ancestors(above) for above in hypernyms))
        return self._above[offset]

    def similarity(self, first: str, second: str) -> float:
        """Return eq. 22 of two words' first senses, in [0, 1]; 0 if only synsets of probability 1 are above
        both.

        Raises KeyError if WordNet or the corpus lacks a word.
        """
        s, t = self.senses[first], self.senses[second]
        if s == t:
            return 1.0
        common = self.ancestors(s) & self.ancestors(t)
        return self._ratio(min((self.information[c] for c in common), default=0.0), s, t)

    def _ratio(self, common: float, s: int, t: int) -> float:
        below = self.information[s] + self.information[t]
        return 2 * common / below if below else 0.0

    def kernel(self, words: Sequence[str] | None = None) -> WordKernel:
        """Return kappa_Lin (eq. 23 and 18) of the corpus's nouns, or of those in `words`, in alphabetical
        order."""
        chosen = sorted(self.senses if words is None else self.senses.keys() & set(words))
        columns: dict[int, int] = {}
        rows, places, values = [], [], []
        for row, word in enumerate(chosen):
            sense = self.senses[word]
            for above in sorted(self.ancestors(sense)):
                # The lowest common ancestor of a sense and one above it is the latter.
                alike = 1.0 if above == sense else self._ratio(self.information[above], sense, above)
                rows.append(row)
                places.append(columns.setdefault(above, len(columns)))
                values.append(alike)
        shape = (len(chosen), len(columns))
        return WordKernel.of_vectors(
            chosen, sparse.csr_array((np.array(values), (rows, places)), shape=shape)
        )
