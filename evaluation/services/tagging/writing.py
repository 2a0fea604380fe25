"""Tags that a trained system finds for images: a set in the database.

The system chooses among the tags that it learned from, or among others by name, which it then knows by their
word vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from annotation.common.batching import chunks
from annotation.formats.files.text import lines
from evaluation.comparison.provenance import provenance_of
from evaluation.models import TaggedImage, TagSet
from evaluation.services.common import (
    ImportRefused,
    check_file,
)
from evaluation.services.features.store import feature_set
from evaluation.services.stored import get_or_publish
from evaluation.services.systems import registry
from evaluation.services.systems.described_alike import check_described_alike
from evaluation.services.systems.examples import Examples, examples_from
from evaluation.services.systems.folds import check_left_out
from evaluation.services.systems.origins.recipe import REMEMBERED_FILES
from evaluation.services.systems.read_captions import with_tags
from evaluation.services.systems.sources import Sources
from evaluation.services.systems.training import system_named
from evaluation.services.tagging.sets import write_tag_set
from evaluation.services.tags.ranked import SCORE_DIGITS
from models_core.estimators.taggers import CandidateTags, ImageTagger, TagScore, check_score
from models_core.phase_cache import PhaseProgress, digest_of_parts, no_progress
from models_core.systems.dataset import Vectors, checked_vectors
from models_core.systems.kernels import GivenWordVectors
from models_core.systems.tag_texts import TagTexts
from models_core.systems.trained_system import TrainedSystem, check_predicts

#: Images that are tagged, and rows that are written, at a time.
_TOGETHER = 256
#: In the place of a file of tags: those learned from, and all that the corpus's captions have.
OF_CORPUS = "corpus"
#: Tags of each image that a set lists, unless it is told.
LISTED = 20
_PHASE = "tagging images"


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRequest:
    """Tags to be found: by which system, for which images, among which tags, and how they are ranked.

    `name` is that of the set, the system's where empty. `split` is as for rankings, all images where empty.
    `vocabulary` is empty for the tags that the system learned from, "corpus" for those and all of the
    corpus's captions that have word vectors, or a file of tags, one a line. `score` is what tags are ranked
    by, `top` how many of each image are listed. `features` is a feature set of the corpus, by default the
    training's. `out` is a new file of ranked tags.
    """

    system: str
    name: str = ""
    split: str = "test"
    vocabulary: str = ""
    score: TagScore = "own"
    top: int = LISTED
    features: str = ""
    seed: int = 0
    out: Path | None = None


@dataclass(frozen=True, slots=True)
class WrittenTags:
    """The set that stands: so many `images`, ranked among so many `vocabulary` tags, of which `unseen` are
    none of the training's. `unchanged`: it stood already. `provenance` is what the system has seen of the
    images."""

    name: str
    system: str
    corpus: str
    images: int
    vocabulary: int
    unseen: int
    top: int
    score: str
    file: str
    unchanged: bool
    provenance: dict[str, Any]


def tag_images(request: TagRequest, *, progress: PhaseProgress = no_progress) -> WrittenTags:
    """Find the tags and keep them. A set that was asked for alike stands unchanged; another of that name is
    refused.

    Raises UnknownName, ImportRefused, BadModel, FormatError, ValueError, and OSError for `out`.
    """
    name = request.name or request.system
    if request.top < 1:
        raise ImportRefused(f"top is {request.top}; expected 1 or more")
    if request.out is not None and request.out.exists():
        raise ImportRefused(f"{request.out} already exists; choose another file")
    system = registry.system_row(request.system)
    work = _Tagging.of(request, progress)
    facts = {
        "made_by": system,
        "corpus": system.corpus,
        "split": request.split,
        "seed": request.seed,
        "settings": work.settings(request),
        "features": work.sources.features,
        "vocabulary": list(work.candidates.names),
        "system_digest": system.digest,
        "asked_digest": work.found.digest_of(work.places),
        "remarks": list(work.remarks),
    }
    found, created = get_or_publish(
        TagSet, name, facts, lambda row: fill_tag_set(row, work.rows(request, progress))
    )
    if request.out is not None:
        write_tag_set(found, request.out)
    return WrittenTags(
        name,
        request.system,
        found.corpus.name,
        found.image_count,
        len(found.vocabulary),
        int((work.candidates.numbers < 0).sum()),
        request.top,
        request.score,
        "" if request.out is None else str(request.out),
        not created,
        provenance_of({name: found}, found.corpus, found.images.values_list("image_id", flat=True))[name],
    )


def fill_tag_set(row: TagSet, tags_of_images: Iterator[tuple[int, list[list[Any]], bytes]]) -> None:
    """Write the rows of a new set: of each image its row's id, its ranked tags, and all its scores."""
    digests = []
    rows = (
        TaggedImage(tag_set=row, position=position, image_id=image, tags=tags, scores=scores)
        for position, (image, tags, scores) in enumerate(tags_of_images)
    )
    for chunk in chunks(rows, _TOGETHER):
        TaggedImage.objects.bulk_create(chunk)
        digests += [[one.image_id, one.tags, bytes(one.scores).hex()] for one in chunk]
    row.image_count = len(digests)
    row.digest = digest_of_parts([digest_of_parts(one) for one in digests])


@dataclass(frozen=True)
class _Tagging:
    """A trained system with the images that it is to tag, and the tags to choose among."""

    stored: TrainedSystem
    found: Examples
    places: Sequence[int]
    sources: Sources
    candidates: CandidateTags
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, request: TagRequest, progress: PhaseProgress) -> _Tagging:
        """Raises BadRecipe where the system does not tag, and ValueError for what does not fit it."""
        stored = system_named(request.system)
        check_predicts(stored.recipe, "tags")
        check_score(request.score, cast(ImageTagger, stored.model).scores, f"system {request.system!r}")
        corpus = str(stored.facts["corpus"])
        given = Sources(features=request.features)
        if not request.features:
            given = Sources(**{key: stored.facts.get(key, "") for key in REMEMBERED_FILES})
        given = given.settled(corpus)
        remarks = check_described_alike(request.system, stored.facts, corpus, given)
        found = examples_from(corpus, given)
        places = found.to_rank(request.split, seed=request.seed)
        check_left_out(stored, request.system, found, places, request.split)
        assert isinstance(stored.texts, TagTexts)
        candidates = _candidates(stored, stored.texts, found, request, progress)
        return cls(stored, found, places, given, candidates, remarks)

    def settings(self, request: TagRequest) -> dict[str, Any]:
        """How tags are found, as plain data: what people's tags are compared by is the recipe's."""
        text = self.stored.recipe.text
        return {"score": request.score, "top": request.top, "unit": text.unit, "alpha": text.weight}

    def rows(
        self, request: TagRequest, progress: PhaseProgress
    ) -> Iterator[tuple[int, list[list[Any]], bytes]]:
        """As `store_tag_set` takes them. Raises ValueError naming an image whose numbers cannot be looked
        at."""
        places, names = self.places, self.candidates.names
        values = self.found.vectors
        assert values is not None
        for start in range(0, len(places), _TOGETHER):
            progress(_PHASE, start, len(places))
            part = places[start : start + _TOGETHER]
            images = [self.found.examples[place].name for place in part]
            block = checked_vectors(images, values[part])
            scores = np.asarray(
                self.stored.score_tags(Vectors(block.values), self.candidates, request.score), np.float32
            )
            order = np.argsort(-scores, axis=1, kind="stable")[:, : request.top]
            for image, own, best in zip(images, scores, order.tolist(), strict=True):
                tags = [[names[tag], round(float(own[tag]), SCORE_DIGITS)] for tag in best]
                yield self.found.names.image[image], tags, own.tobytes()
        progress(_PHASE, len(places), len(places))


def _candidates(
    stored: TrainedSystem, texts: TagTexts, found: Examples, request: TagRequest, progress: PhaseProgress
) -> CandidateTags:
    """The tags to choose among. Raises ImportRefused for a file without tags, or word vectors that changed,
    and UnknownTag for a tag without any."""
    if not request.vocabulary:
        return texts.candidates()
    words = _word_vectors(stored)
    if request.vocabulary != OF_CORPUS:
        file = Path(request.vocabulary)
        check_file(file, "a file of tags")
        named = [tag.strip() for _, tag in lines(file) if tag.strip()]
        if not named:
            raise ImportRefused(f"{file} names no tag; write one on each line")
        return texts.candidates(named, words)
    tagged = with_tags(found, texts.settings.unit, progress)
    known = set(texts.vocabulary)
    others = sorted(
        {one.tag for example in tagged.examples for said in example.tags or () for one in said} - known
    )
    if words is not None:
        there = np.asarray(words.of_phrases(others).any(axis=1))
        others = [tag for tag, has in zip(others, there, strict=True) if has]
    return texts.candidates([*texts.vocabulary, *others], words)


def _word_vectors(stored: TrainedSystem) -> GivenWordVectors | None:
    """The word vectors of the training, None where it had none. Raises UnknownName where they were removed,
    and ImportRefused where they are others now."""
    label = stored.facts.get("words", "")
    if not label:
        return None
    found = feature_set(str(stored.facts["corpus"]), label)
    if found.digest != stored.facts["files"][label]:
        raise ImportRefused(
            f"feature set {label!r} is not the one that the system learned from; train the system again"
        )
    return GivenWordVectors(found.ids(), found.vectors())
