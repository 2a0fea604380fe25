"""Word vectors trained on a corpus's own captions, by gensim: skip-gram with negative sampling.

Unless others are requested, the captions are those of the split "train", so that tests on other images are
independent of their captions.

Source: Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their Compositionality".
"""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from annotation.selectors.corpora import corpus_named, split_names
from evaluation.comparison.provenance import Hashes, identities_of
from evaluation.comparison.subsets import Subset, subset_named
from evaluation.selectors import caption_words
from evaluation.services.common import InputError
from evaluation.services.features.store import FeatureSet, NewSet, write_set
from models_core.checked_fields import CheckedRecord
from models_core.extras import load_extra
from models_core.phase_cache import PhaseProgress, no_progress

#: The name for all captions in a set's origin.
_ALL_CALLED = "all captions"
PHASE = "training word vectors"
#: The split whose captions are read where a corpus has splits, and the word that requests all captions.
TRAINING_SPLIT, ALL_CAPTIONS = "train", "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTraining(CheckedRecord):
    """A training of word vectors: the corpus, the name of the set, the captions, and the settings.

    `split` is a split, a fold such as 1/5, a file of images' names, `run:NAME`, or "all"; "" is the split
    "train", or all captions of a corpus without splits.
    """

    corpus: str
    name: str
    split: str = ""
    dimensions: Annotated[int, Field(ge=2, le=2000, description="Numbers of a vector")] = 100
    window: Annotated[int, Field(ge=1, le=50, description="Words to either side that are predicted")] = 5
    negative: Annotated[int, Field(ge=1, le=50, description="Wrong words beside each right one")] = 5
    epochs: Annotated[int, Field(ge=1, le=1000, description="Passes over the captions")] = 10
    least: Annotated[int, Field(ge=1, description="Words that come less often get no vector")] = 2
    seed: Annotated[int, Field(ge=0, lt=2**31, description="Seed of all random numbers")] = 0


def train_word_vectors(
    request: WordTraining, *, progress: PhaseProgress = no_progress
) -> tuple[FeatureSet, bool]:
    """Train vectors of the words of captions, lower-cased; return the set and whether it is new.

    The set's origin says whose captions were read (`split`), and how many. Training uses one thread, so that
    the same captions and settings give the same vectors. Raises UnknownName, BadField, BadSubset, FormatError
    for a file of names, InputError if no word occurs often enough and for a corpus whose splits do not
    include "train", OSError and Busy; an exception of `progress` ends the training.
    """
    Word2Vec = load_extra("gensim.models").Word2Vec  # an import of a second, which few callers need
    CallbackAny2Vec: Any = load_extra("gensim.models.callbacks").CallbackAny2Vec

    class Epochs(CallbackAny2Vec):
        done = 0

        def on_epoch_end(self, model: Any) -> None:
            self.done += 1
            progress(PHASE, self.done, request.epochs)

    subset = images_read(request.corpus, request.split)
    sentences = caption_words(request.corpus, None if subset is None else subset.images)
    of_which = "" if subset is None else f", {subset.called},"
    progress(PHASE, 0, request.epochs)
    try:
        model = Word2Vec(
            sentences,
            vector_size=request.dimensions,
            window=request.window,
            negative=request.negative,
            epochs=request.epochs,
            min_count=request.least,
            sg=1,
            seed=request.seed,
            workers=1,
            callbacks=[Epochs()],
        )
    except RuntimeError as error:
        raise InputError(
            f"no word of corpus {request.corpus!r}{of_which} comes {request.least} times; lower that number"
        ) from error
    vectors = np.asarray(model.wv.vectors, np.float32)
    settings = {
        key: value for key, value in asdict(request).items() if key not in ("corpus", "name", "split")
    }
    new = NewSet(
        corpus=request.corpus,
        name=request.name,
        kind="word",
        ids=list(model.wv.index_to_key),
        dimensions=request.dimensions,
        dtype="float32",
        origin={
            "extractor": "word2vec",
            "settings": settings,
            "split": _ALL_CALLED if subset is None else subset.called,
            "captions": len(sentences),
        },
        learned=_images_of(request.corpus, subset),
    )
    return write_set(new, lambda done: [vectors[done:]] if done < len(vectors) else [], progress=progress)


def _images_of(corpus: str, subset: Subset | None) -> Hashes:
    row = corpus_named(corpus)
    every = row.images.order_by().values_list("pk", flat=True)
    return identities_of(row, every if subset is None else subset.images).packed()


def images_read(corpus: str, split: str) -> Subset | None:
    """Return the images whose captions are read; None for all. Raises as `train_word_vectors` does."""
    splits = [name for name in split_names(corpus_named(corpus)) if name]
    if not split and splits and TRAINING_SPLIT not in splits:
        known = ", ".join(map(repr, splits))
        raise InputError(
            f"corpus {corpus!r} has the splits {known} and none that is called {TRAINING_SPLIT!r}; say whose "
            f"captions are read: a split, a fold such as 1/5, or {ALL_CAPTIONS!r}"
        )
    chosen = split or (TRAINING_SPLIT if splits else ALL_CAPTIONS)
    return None if chosen == ALL_CAPTIONS else subset_named(corpus, chosen)
