"""Captions of several systems, mixed blindly with people's, for people to judge.

The result is a corpus of candidates and a run for each system: each image ranks the one caption that the
system wrote of it. So a batch pools them and asks about each different caption of an image once, and every
system is scored, compared and reported like a ranking. Judges see a picture and a caption: all captions are
lower-cased and without punctuation, and no page shows who wrote one.

Source: Karpathy and Fei-Fei 2015, section 4.2; Hodosh et al. 2013, section 4.3 (judging a pool).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, Named, OperationContext, invalid
from annotation.protocol.terms import CaptionRecord
from annotation.selectors.corpora import Corpus, corpus_named
from evaluation.models import CaptionSet
from evaluation.services.candidates import (
    Candidates,
    check_alike,
    import_candidates,
    shuffled,
    store_candidate_runs,
)
from evaluation.services.captions.sets import caption_set_named
from evaluation.services.common import InputError
from evaluation.services.phases import PhaseShares
from evaluation.services.stored_kinds import CAPTION_SETS
from phrasebox.text.tokens import plain_words

#: The name of the runs of people's captions; a number is appended.
PEOPLE_RUNS = "people"


_Number = Annotated[int, Field(ge=0, le=10**6)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MixRequest:
    """Create a corpus of candidates, which does not reveal who wrote a caption, and a run for each system. A
    batch of these runs, with grades and depth 1, asks people about each distinct caption once."""

    name: Annotated[str, Named(max_length=80), Help(_("Name of the new corpus"))]
    sets: Annotated[
        tuple[Annotated[str, Named(CAPTION_SETS)], ...],
        Field(min_length=1, max_length=20),
        Help(_("Caption sets"), _("Of whole images of one corpus")),
    ]
    people: Annotated[int, Field(ge=0, le=10), Help(_("People's captions of each image"))] = 1
    images: Annotated[
        _Number, Help(_("Images"), _("How many images are drawn; 0: all that the sets describe"))
    ] = 0
    controls: Annotated[_Number, Help(_("Images for control items"), _("Others, drawn too"))] = 0
    seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed"), _("Of what is drawn"))] = 0


@dataclass(frozen=True, slots=True)
class Mixed:
    """The corpus that was created: its `images` to be judged, their different `captions`, and the `runs`."""

    corpus: str
    images: int
    captions: int
    controls: int
    runs: tuple[str, ...]


def check_mixing(request: MixRequest, context: OperationContext) -> MixRequest:
    """Raise Invalid if a corpus of that name exists already."""
    if Corpus.objects.filter(name=request.name).exists():
        raise invalid("name", "taken", value=request.name)
    return request


def mix_captions(request: MixRequest, context: OperationContext) -> Mixed:
    """Create the corpus and its runs. Repeating the same request changes nothing.

    Raises UnknownName, InputError, IntakeError and Busy.
    """
    sets = [caption_set_named(name) for name in request.sets]
    check_alike(sets)
    _check_whole_images(sets)
    rng = np.random.default_rng(request.seed)
    chosen, controls = _images(request, sets, rng)
    by_system: dict[str, dict[int, str]] = {
        caption_set.name: dict(caption_set.captions.values_list("image_id", "text")) for caption_set in sets
    }
    by_system |= _people(request, sets[0], chosen)
    corpus = sets[0].corpus
    texts = {
        pk: shuffled(rng, {caption_set[pk] for caption_set in by_system.values() if caption_set.get(pk)})
        for pk in sorted(chosen)
    }
    only = _controls(corpus.name, controls, rng)
    origins = ", ".join([*request.sets, *(name for name in by_system if name not in request.sets)])
    candidates = Candidates(
        name=request.name,
        corpus=corpus.name,
        judged={pk: list(map(CaptionRecord, captions)) for pk, captions in texts.items()},
        controls={pk: list(map(CaptionRecord, captions)) for pk, captions in only.items()},
        source=f"captions of {origins}",
    )
    import_candidates(candidates, phase="mixing captions", progress=PhaseShares(context.report_progress))
    ranked = {
        system: {pk: [(text, 1.0)] for pk, text in captions.items() if text}
        for system, captions in by_system.items()
    }
    runs = store_candidate_runs(candidates, ranked, what="captions", depth=1)
    return Mixed(request.name, len(texts), sum(map(len, texts.values())), len(only), runs)


def _check_whole_images(sets: Sequence[CaptionSet]) -> None:
    """Raise InputError for sets of regions, and one with the name of people's captions."""
    for row in sets:
        if row.regions:
            raise InputError(
                f"caption set {row.name!r} describes regions; judges see whole pictures: leave it out"
            )
        if row.name.startswith(f"{PEOPLE_RUNS}-"):
            raise InputError(f"caption set {row.name!r} has the name of people's captions; leave it out")


def _images(
    request: MixRequest, sets: Sequence[CaptionSet], rng: np.random.Generator
) -> tuple[set[int], list[int]]:
    """Choose the images to be judged, and those for control items. Raises InputError for too few."""
    common = set.intersection(
        *(set(caption_set.captions.values_list("image_id", flat=True)) for caption_set in sets)
    )
    if len(common) < max(1, request.images):
        raise InputError(
            f"the sets describe {len(common)} images in common; expected {max(1, request.images)}"
        )
    ordered = sorted(common)
    chosen = rng.permutation(ordered)[: request.images or None].tolist()
    described = sets[0].corpus.images.filter(captions__isnull=False).exclude(pk__in=chosen).distinct()
    others = sorted(described.values_list("pk", flat=True))
    if len(others) < request.controls:
        raise InputError(f"{len(others)} images are left for control items; expected {request.controls}")
    return set(chosen), rng.permutation(others)[: request.controls].tolist()


def _people(request: MixRequest, caption_set: CaptionSet, chosen: set[int]) -> dict[str, dict[int, str]]:
    """Return people's captions as those of several systems: each image's first, second, and so on.

    An image with fewer captions is missing in the later ones.
    """
    runs: dict[str, dict[int, str]] = {}
    rows = caption_set.corpus.images.filter(pk__in=chosen, captions__unrelated=False)
    texts_of_image: dict[int, list[str]] = {}
    for image, text in rows.order_by("captions__number").values_list("pk", "captions__text"):
        texts_of_image.setdefault(image, []).append(text)
    for index in range(request.people):
        name = f"{PEOPLE_RUNS}-{index + 1}"
        runs[name] = {
            pk: _words_only(texts[index]) for pk, texts in texts_of_image.items() if index < len(texts)
        }
    return runs


def _controls(corpus: str, images: Sequence[int], rng: np.random.Generator) -> dict[int, list[str]]:
    """Return one of people's captions for each image."""
    texts_of_image: dict[int, list[str]] = {}
    rows = corpus_named(corpus).images.filter(pk__in=images, captions__unrelated=False)
    for image, text in rows.order_by("pk", "captions__number").values_list("pk", "captions__text"):
        if words := _words_only(text):
            texts_of_image.setdefault(image, []).append(words)
    return {image: [texts[int(rng.integers(len(texts)))]] for image, texts in texts_of_image.items()}


def _words_only(text: str) -> str:
    """Return a caption in the form in which systems write: lower-cased, without punctuation."""
    return " ".join(plain_words(text))
