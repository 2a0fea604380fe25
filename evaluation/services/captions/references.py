"""What people say of images, as references of written captions, and the set in which CIDEr counts documents.

How much a run of words weighs in CIDEr depends on the documents in which it is counted. They are the
references of a whole split or corpus, whatever part of it is scored and no matter who wrote the captions, so
that the figures of two systems, of a part and of a resample are comparable. A figure has their name and
digest.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from annotation.selectors.corpora import corpus_named, split_names
from evaluation.comparison.subsets import Subset, subset_named

#: Digits of the digest that a label shows.
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Documents:
    """Texts of documents, and what they are called."""

    called: str
    texts: tuple[tuple[str, ...], ...]

    @property
    def label(self) -> str:
        """Name, number and digest, as a FigureBasis has them."""
        digest = hashlib.sha256(json.dumps(self.texts, ensure_ascii=False).encode()).hexdigest()
        return f"{self.called} ({len(self.texts):,} documents, sha256 {digest[:_DIGITS]})"


def references_by_image(corpus: str) -> tuple[dict[int, tuple[str, ...]], dict[int, int]]:
    """The captions of each image by the id of its row, and how many that are unrelated it has besides.

    Images are in the order of the corpus. Raises UnknownName.
    """
    images = corpus_named(corpus).images.filter(captions__isnull=False)
    rows = images.order_by("position", "captions__number")
    texts: dict[int, tuple[str, ...]] = {}
    unrelated: dict[int, int] = {}
    for pk, text, apart in rows.values_list("pk", "captions__text", "captions__unrelated").iterator(5_000):
        if apart:
            unrelated[pk] = unrelated.get(pk, 0) + 1
        else:
            texts[pk] = (*texts.get(pk, ()), text)
    return texts, unrelated


def subset_of_documents(corpus: str, split: str, documents: str = "", *, seed: int = 0) -> Subset | None:
    """The images whose references are CIDEr's documents; None for the whole corpus.

    `documents` names them as `--split` does; without it they are those of `split` where that is a split of
    the corpus, and all for a fold, a file of names or the images of a run. Raises as `subset_named`.
    """
    named = documents or (split if split in split_names(corpus_named(corpus)) else "")
    return subset_named(corpus, named, seed=seed)


def documents_of(corpus: str, subset: Subset | None, references: dict[int, tuple[str, ...]]) -> Documents:
    """The documents of a part of a corpus: one for each image that has references."""
    called = f"corpus {corpus}" + (f", {subset.called}" if subset else "")
    images: Iterable[int] = references if subset is None else (pk for pk in references if pk in subset.images)
    return Documents(called, tuple(references[pk] for pk in images))
