"""Tags of several systems, mixed blindly, for people to judge which of them fit.

The result is a corpus of candidates and a run for each system (`evaluation.services.candidates`): an image
ranks the tags that the system assigned to it. A batch of the task `tags` shows people a picture with ten
tags.

Tags are compared lower-cased: "Dog" and "dog" are one tag. Control items come from other images. Their
fitting tags are those that two or more of the image's captions mention. Their unfitting tags are drawn from
the tags of the judged images, as frequently as these have them, so that they look like any others; of those
drawn, the ones are used that co-occur most rarely with the fitting tags in captions of the whole corpus,
relative to chance. None of their words is in the image's captions. A person has to check whether one fits all
the same.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Annotated

import numpy as np
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, Named, OperationContext, invalid
from annotation.protocol.terms import CaptionRecord
from annotation.selectors.corpora import Corpus, corpus_named
from evaluation.models import TagSet
from evaluation.services.candidates import (
    Candidates,
    check_alike,
    import_candidates,
    shuffled,
    store_candidate_runs,
)
from evaluation.services.common import InputError
from evaluation.services.phases import PhaseShares
from evaluation.services.stored_kinds import TAG_SETS
from evaluation.services.tagging.sets import tag_set_named
from evaluation.services.tags.reading import TagReader
from models_core.features.text.tags import DEFAULT_ALPHA, ranked_tags
from models_core.phase_cache import PhaseProgress
from phrasebox.text.stems import stem
from phrasebox.text.tokens import tokenise

#: Number of rows of a set that are read at a time.
_ROWS = 2_000
#: Default number of judged tags of each system.
JUDGED_TAGS = 10
#: For a control image: the most fitting tags, the number of captions that mention each, the number of
#: unfitting tags (enough for two pages of ten), and the number of candidates from which these are chosen.
FITTING, NAMED_BY, UNFITTING, DRAWN = 5, 2, 18, 120

_Ranked = dict[int, list[tuple[str, float]]]


_Number = Annotated[int, Field(ge=0, le=10**6)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TagMixRequest:
    """Create a corpus of candidates, which does not reveal which system assigned a tag, and a run for each
    system. A batch of these runs asks people."""

    name: Annotated[str, Named(max_length=80), Help(_("Name of the new corpus"))]
    sets: Annotated[
        tuple[Annotated[str, Named(TAG_SETS)], ...],
        Field(min_length=1, max_length=20),
        Help(_("Tag sets"), _("Of one corpus")),
    ]
    depth: Annotated[int, Field(ge=1, le=1000), Help(_("Tags of each system that are judged"))] = JUDGED_TAGS
    images: Annotated[
        _Number, Help(_("Images"), _("How many images are drawn; 0: all that the sets have tags of"))
    ] = 0
    controls: Annotated[_Number, Help(_("Images for control items"), _("Others, drawn too"))] = 0
    seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed"), _("Of what is drawn"))] = 0


@dataclass(frozen=True, slots=True)
class MixedTags:
    """The corpus that was created: `images` to be judged, the number of different `tags`, and the `runs`."""

    corpus: str
    images: int
    tags: int
    controls: int
    runs: tuple[str, ...]


def check_tag_mixing(request: TagMixRequest, context: OperationContext) -> TagMixRequest:
    """Raise Invalid if a corpus of that name exists already."""
    if Corpus.objects.filter(name=request.name).exists():
        raise invalid("name", "taken", value=request.name)
    return request


def mix_tags(request: TagMixRequest, context: OperationContext) -> MixedTags:
    """Create the corpus and its runs. Repeating the same request changes nothing.

    Raises UnknownName, InputError, IntakeError and Busy.
    """
    sets, progress = [tag_set_named(name) for name in request.sets], PhaseShares(context.report_progress)
    check_alike(sets)
    corpus = sets[0].corpus.name
    lists = {tag_set.name: _best_tags(tag_set, request.depth) for tag_set in sets}
    rng = np.random.default_rng(request.seed)
    chosen, others = _images(request, corpus, lists, rng)
    texts = {
        pk: shuffled(rng, {tag for tags in lists.values() for tag, _ in tags[pk]}) for pk in sorted(chosen)
    }
    pool = [tag for tags in texts.values() for tag in tags]
    controls = _controls(request, corpus, others, pool, rng, progress) if request.controls else {}
    candidates = Candidates(
        name=request.name,
        corpus=corpus,
        judged={pk: list(map(CaptionRecord, tags)) for pk, tags in texts.items()},
        controls=controls,
        source=f"tags of {', '.join(lists)}",
    )
    import_candidates(candidates, phase="mixing tags", progress=progress)
    runs = store_candidate_runs(
        candidates,
        {system: {pk: tags[pk] for pk in texts} for system, tags in lists.items()},
        what="tags",
        depth=request.depth,
    )
    return MixedTags(request.name, len(texts), sum(map(len, texts.values())), len(controls), runs)


def _best_tags(tag_set: TagSet, depth: int) -> _Ranked:
    """Return the best tags of each image of a set, by the image's id."""
    ranked = _Ranked()
    for pk, tags in tag_set.images.order_by("position").values_list("image_id", "tags").iterator(_ROWS):
        best: dict[str, float] = {}
        for tag, score in tags:
            best.setdefault(tag.lower(), score)
        ranked[pk] = list(best.items())[:depth]
    return ranked


def _images(
    request: TagMixRequest, corpus: str, lists: Mapping[str, _Ranked], rng: np.random.Generator
) -> tuple[set[int], list[int]]:
    """Return the images to be judged, and the others in random order. Raises InputError for too few."""
    common = set.intersection(*(set(of_system) for of_system in lists.values()))
    tagged = sorted(pk for pk in common if any(of_system[pk] for of_system in lists.values()))
    if len(tagged) < max(1, request.images):
        raise InputError(
            f"the sets have tags of {len(tagged)} images in common; expected {max(1, request.images)}"
        )
    chosen = rng.permutation(tagged)[: request.images or None].tolist()
    others = corpus_named(corpus).images.exclude(pk__in=chosen).order_by("pk")
    return set(chosen), rng.permutation(list(others.values_list("pk", flat=True))).tolist()


def _controls(
    request: TagMixRequest,
    corpus: str,
    images: Sequence[int],
    pool: Sequence[str],
    rng: np.random.Generator,
    progress: PhaseProgress,
) -> dict[int, list[CaptionRecord]]:
    """Return images for control items: fitting tags, and others, which are marked as unrelated.

    Raises InputError if too few images have captions that agree on a tag.
    """
    fitting = _fitting(request, corpus, images, progress)
    if len(fitting) < request.controls:
        raise InputError(
            f"{len(fitting)} images of the {len(images)} that are left have a tag that {NAMED_BY} captions "
            f"name; expected {request.controls} for control items"
        )
    words = {word for tag in (*pool, *chain.from_iterable(fitting.values())) for word in _words(tag)}
    images_saying = _images_saying(corpus, words)
    described = corpus_named(corpus).image_count
    records_of_image = {}
    for pk, tags in fitting.items():
        words_of_image = {word for word, there in images_saying.items() if pk in there}
        drawn = dict.fromkeys(pool[index] for index in rng.permutation(len(pool)))
        sample = list(islice((tag for tag in drawn if not _words(tag) & words_of_image), DRAWN))
        met = {tag: _meeting(images_saying, tag, tags, described) for tag in sample}
        unfitting = sorted(met, key=met.__getitem__)[:UNFITTING]
        records = [*map(CaptionRecord, tags), *(CaptionRecord(tag, unrelated=True) for tag in unfitting)]
        records_of_image[pk] = [records[index] for index in rng.permutation(len(records))]
    return records_of_image


def _meeting(images_of_word: Mapping[str, set[int]], tag: str, others: Sequence[str], images: int) -> float:
    """Return how often a tag co-occurs with each of `others` in an image's captions, relative to chance, as a
    mean; both counts are smoothed by half an image, since small ones are unreliable."""
    saying, ratios = _saying(images_of_word, tag), []
    for other_tag in others:
        there = _saying(images_of_word, other_tag)
        ratios.append((len(saying & there) + 0.5) / (len(saying) * len(there) / max(1, images) + 0.5))
    return float(np.mean(ratios))


def _fitting(
    request: TagMixRequest, corpus: str, images: Sequence[int], progress: PhaseProgress
) -> dict[int, list[str]]:
    """Return the first images, up to the requested number, with the best tags that several captions
    mention."""
    reader, tags_of_image = TagReader(), dict[int, list[str]]()
    rows = corpus_named(corpus).images.filter(captions__unrelated=False)
    for pk in images:
        if len(tags_of_image) == request.controls:
            break
        progress("reading captions", len(tags_of_image), request.controls)
        captions = rows.filter(pk=pk).order_by("captions__number").values_list("captions__text", flat=True)
        read = [reader.tags(tokenise(text)) for text in captions]
        named: dict[str, int] = defaultdict(int)
        for caption in read:
            for tag in {tag_read.tag for tag_read in caption}:
                named[tag] += 1
        ranked = ranked_tags(read, DEFAULT_ALPHA["nouns"])
        if tags := [tag for tag, _ in ranked if named[tag] >= NAMED_BY][:FITTING]:
            tags_of_image[pk] = tags
    return tags_of_image


def _words(tag: str) -> frozenset[str]:
    """Return the stems of a tag's words."""
    return frozenset(stem(word.lower()) for word in tokenise(tag) if any(map(str.isalnum, word)))


def _images_saying(corpus: str, words: Collection[str]) -> dict[str, set[int]]:
    """Return for each stem of `words` the images with a caption that contains it."""
    images_of_word: dict[str, set[int]] = {word: set() for word in words}
    rows = corpus_named(corpus).images.filter(captions__unrelated=False)
    for pk, text in rows.order_by("pk").values_list("pk", "captions__text").iterator(5_000):
        for word in tokenise(text):
            if (there := images_of_word.get(stem(word.lower()))) is not None:
                there.add(pk)
    return images_of_word


def _saying(images_of_word: Mapping[str, set[int]], tag: str) -> set[int]:
    """Return the images whose captions contain all words of a tag."""
    return set.intersection(*(images_of_word[word] for word in _words(tag))) if _words(tag) else set()
