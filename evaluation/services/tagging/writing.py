"""Tags that a trained system assigns to images, stored as a set in the database.

The system chooses among the tags that it was trained on, or among other tags by name, which it represents by
their word vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import numpy as np
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, OneOf, OperationContext, ServerFile, invalid
from evaluation.comparison.provenance import provenance_of
from evaluation.models import System, TagSet
from evaluation.services.common import InputError, check_file
from evaluation.services.features.store import feature_set, feature_sets
from evaluation.services.phases import PhaseShares
from evaluation.services.predicting import PredictionRequest, SetField, check_set, method_of, requested_system
from evaluation.services.stored import get_or_publish
from evaluation.services.systems import registry
from evaluation.services.systems.described_alike import check_described_alike
from evaluation.services.systems.examples import Examples, examples_from
from evaluation.services.systems.origins.recipe import REMEMBERED_FILES
from evaluation.services.systems.read_captions import with_tags
from evaluation.services.systems.sources import Sources
from evaluation.services.systems.training import system_named
from evaluation.services.systems.training_images import check_not_learned_from
from evaluation.services.tagging.sets import TagSetSummary, fill_tag_set, tag_set_summary
from evaluation.services.tags.ranked import SCORE_DIGITS
from models_core.estimators.predictors import CandidateTags, ImageTagger, TagScore, check_score
from models_core.phase_cache import PhaseProgress
from models_core.systems.dataset import Vectors, checked_vectors
from models_core.systems.kernels import WordVectorTable
from models_core.systems.tag_texts import TagTexts
from models_core.systems.trained_system import TrainedSystem, check_predicts
from phrasebox.text_files import lines

#: Number of images tagged at a time.
_TOGETHER = 256
#: In the place of a file of tags: those of the training, and all that occur in the corpus's captions.
OF_CORPUS = "corpus"
#: Default number of tags listed per image.
LISTED = 20
_PHASE = "tagging images"


def _of_corpus() -> tuple[str, ...]:
    return (OF_CORPUS,)


_TAG_FILES = ServerFile("tags", (".txt",), also=_of_corpus)


def tag_scores() -> Mapping[str, None]:
    """Return the scores by which systems can rank tags."""
    return dict.fromkeys(get_args(TagScore))


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRequest(PredictionRequest):
    """A trained system tags images. One that was trained with word vectors can also choose tags outside its
    training data."""

    vocabulary: Annotated[
        Annotated[str, _TAG_FILES] | None,
        Help(
            _("Tags to choose among"),
            _("All of the corpus's captions (corpus), or a file of tags; else those learned from"),
        ),
    ] = None
    score: Annotated[
        Annotated[str, OneOf(tag_scores)] | None,
        Help(_("Ranked by"), _("The method's own score, s1, s2 or the mean of both; else the first it has")),
    ] = None
    top: Annotated[int, Field(ge=1, le=1000), Help(_("Tags listed of each image"))] = LISTED
    features: Annotated[SetField, Help(_("Features of images"), _("A feature set; else the training's"))] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTags(TagSetSummary):
    """Tags of images: the best `top` by `score`, ranked among `vocabulary` tags, of which `unseen` did not
    occur in training. `unchanged`: the set existed already. `provenance` is what the system has seen of the
    images."""

    vocabulary: int
    unseen: int
    top: int
    score: str
    unchanged: bool
    provenance: dict[str, Any]


def ways_to_rank_tags(system: System) -> tuple[TagScore, ...]:
    """Return the scores by which a system can rank tags; empty where it cannot tag."""
    method = method_of(system)
    if method is None or method.predicts != "tags":
        return ()
    scores: tuple[TagScore, ...] = method.make(method.settings()).scores
    return scores


def check_tagging(request: TagRequest, context: OperationContext) -> TagRequest:
    """Raise Invalid if the images or features do not exist, or the system has no such score, and
    InputError if it cannot tag."""
    system = requested_system(request, context)
    ways = ways_to_rank_tags(system)
    if not ways:
        raise InputError(f"system {system.name!r} does not tag images; choose one that does")
    if request.score is not None and request.score not in ways:
        raise invalid("score", "literal_error", expected=", ".join(ways))
    sets = (stored for stored in feature_sets(system.corpus.name) if stored.kind == "image")
    check_set("features", request.features, sets)
    return request


def tag_images(request: TagRequest, context: OperationContext) -> WrittenTags:
    """Tag the images and store the tags. A set from the same request stays unchanged; a different one of that
    name is refused.

    Raises UnknownName, InputError, BadModel, FormatError, ValueError.
    """
    check_tagging(request, context)
    system, progress = registry.system_row(request.system), PhaseShares(context.report_progress)
    work = _Tagging.of(request, context, progress)
    columns = {
        "made_by": system,
        "corpus": system.corpus,
        "split": request.split,
        "seed": request.seed,
        "settings": work.settings(),
        "features": work.sources.features,
        "vocabulary": list(work.candidates.names),
        "system_digest": system.digest,
        "input_digest": work.dataset.digest_of(work.places),
        "remarks": list(work.remarks),
    }
    stored, created = get_or_publish(
        TagSet, request.set_name, columns, lambda row: fill_tag_set(row, work.rows(progress))
    )
    images = stored.images.values_list("image_id", flat=True)
    return WrittenTags(
        **asdict(tag_set_summary(stored)),
        vocabulary=len(stored.vocabulary),
        unseen=int((work.candidates.numbers < 0).sum()),
        top=request.top,
        score=work.score,
        unchanged=not created,
        provenance=provenance_of({stored.name: stored}, stored.corpus, images)[stored.name],
    )


@dataclass(frozen=True)
class _Tagging:
    """A trained system with the images to tag, and the tags to choose among."""

    stored: TrainedSystem
    dataset: Examples
    places: Sequence[int]
    sources: Sources
    candidates: CandidateTags
    score: TagScore
    top: int
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, request: TagRequest, context: OperationContext, progress: PhaseProgress) -> _Tagging:
        """Load the system and its inputs. Raises BadRecipe if the system cannot tag, and ValueError for
        inputs that do not fit it."""
        stored = system_named(request.system)
        check_predicts(stored.recipe, "tags")
        scores = cast(ImageTagger, stored.model).scores
        score = cast(TagScore, request.score or scores[0])
        check_score(score, scores, f"system {request.system!r}")
        corpus = str(stored.metadata["corpus"])
        sources = Sources(features=request.features)
        if not request.features:
            sources = Sources(**{key: stored.metadata.get(key, "") for key in REMEMBERED_FILES})
        sources = sources.settled(corpus)
        remarks = check_described_alike(request.system, stored.metadata, corpus, sources)
        dataset = examples_from(corpus, sources)
        places = dataset.to_rank(request.split, seed=request.seed)
        check_not_learned_from(stored, request.system, dataset, places, request.split)
        assert isinstance(stored.texts, TagTexts)
        chosen: Path | str | None = request.vocabulary
        if isinstance(chosen, str) and chosen != OF_CORPUS:
            chosen = _TAG_FILES.path(chosen, by_path=context.by_path)
        candidates = _candidates(stored, stored.texts, dataset, chosen, progress)
        return cls(stored, dataset, places, sources, candidates, score, request.top, remarks)

    def settings(self) -> dict[str, Any]:
        """How the tags were chosen, as plain data; people's tags are later compared by the recipe's unit."""
        text = self.stored.recipe.text
        return {"score": self.score, "top": self.top, "unit": text.unit, "alpha": text.weight}

    def rows(self, progress: PhaseProgress) -> Iterator[tuple[int, list[list[Any]], bytes]]:
        """Yield rows for `fill_tag_set`. Raises ValueError naming an image whose numbers cannot be used."""
        places, names = self.places, self.candidates.names
        values = self.dataset.vectors
        assert values is not None
        for start in range(0, len(places), _TOGETHER):
            progress(_PHASE, start, len(places))
            part = places[start : start + _TOGETHER]
            images = [self.dataset.examples[index].name for index in part]
            block = checked_vectors(images, values[part])
            scores = np.asarray(
                self.stored.score_tags(Vectors(block.values), self.candidates, self.score), np.float32
            )
            order = np.argsort(-scores, axis=1, kind="stable")[:, : self.top]
            for image, scores_of_image, best in zip(images, scores, order.tolist(), strict=True):
                tags = [[names[tag], round(float(scores_of_image[tag]), SCORE_DIGITS)] for tag in best]
                yield self.dataset.names.image[image], tags, scores_of_image.tobytes()
        progress(_PHASE, len(places), len(places))


def _candidates(
    stored: TrainedSystem,
    texts: TagTexts,
    dataset: Examples,
    vocabulary: Path | str | None,
    progress: PhaseProgress,
) -> CandidateTags:
    """Return the tags to choose among: those of a file, or of all captions. Raises InputError for a file
    without tags, or word vectors that changed, and UnknownTag for a tag without any."""
    if vocabulary is None:
        return texts.candidates()
    words = _word_vectors(stored)
    if isinstance(vocabulary, Path):
        check_file(vocabulary, "a file of tags")
        named = [tag.strip() for _number, tag in lines(vocabulary) if tag.strip()]
        if not named:
            raise InputError(f"{vocabulary} names no tag; write one on each line")
        return texts.candidates(named, words)
    tagged = with_tags(dataset, texts.settings.unit, progress)
    known = set(texts.vocabulary)
    others = sorted(
        {tag_read.tag for example in tagged.examples for tags in example.tags or () for tag_read in tags}
        - known
    )
    if words is not None:
        there = np.asarray(words.of_phrases(others).any(axis=1))
        others = [tag for tag, has in zip(others, there, strict=True) if has]
    return texts.candidates([*texts.vocabulary, *others], words)


def _word_vectors(stored: TrainedSystem) -> WordVectorTable | None:
    """Return the word vectors of the training, None if it had none. Raises UnknownName if they were
    removed, and InputError if they have changed."""
    label = stored.metadata.get("words", "")
    if not label:
        return None
    stored_words = feature_set(str(stored.metadata["corpus"]), label)
    if stored_words.digest != stored.metadata["files"][label]:
        raise InputError(
            f"feature set {label!r} is not the one that the system learned from; train the system again"
        )
    return WordVectorTable(stored_words.ids(), stored_words.vectors())
