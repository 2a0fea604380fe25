"""Training systems by recipe: extract features, train, and store the result under DATA_DIR/systems.

Finished phases are cached under DATA_DIR/kept, so that a killed training continues after its last one. A
system's folder appears only when it is complete; kernels of an interrupted training wait beside it, and are
removed at its end.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from annotation.common.operations import OperationContext
from evaluation.comparison.subsets import FOLD
from evaluation.services.common import InputError, check_file, phase_cache, work_lock
from evaluation.services.features.parses import parses_of
from evaluation.services.features.store import feature_set, is_label
from evaluation.services.phases import PhaseShares
from evaluation.services.systems import registry
from evaluation.services.systems.auxiliary import auxiliary_pairs
from evaluation.services.systems.examples import (
    Examples,
    caption_vectors_of,
    captions_of_corpus,
    examples_from,
    examples_of,
)
from evaluation.services.systems.folders import clear_leftovers, system_folder, training_folder
from evaluation.services.systems.read_captions import as_read
from evaluation.services.systems.region_texts import region_texts, regions_with_phrases
from evaluation.services.systems.shared_sums import SharedSums
from evaluation.services.systems.sources import Sources
from evaluation.services.systems.training_images import SEEN_FACT, images_of_training
from evaluation.services.systems.training_requests import CheckedTraining, TrainingRequest, checked_training
from models_core import storage
from models_core.estimators.base import IMAGE_VIEW
from models_core.features.text.background import read_sentences, without_captions
from models_core.phase_cache import PhaseCache, PhaseProgress, digest_of_parts, no_progress
from models_core.processes import Processes, joined_processes
from models_core.systems.dataset import count_words, prepare
from models_core.systems.kernels import Resources, WordVectorTable, check_resources
from models_core.systems.recipe import Recipe
from models_core.systems.trained_system import TrainedSystem
from models_core.systems.training import FitOptions, check_processes, fit
from phrasebox.device import torch_on
from phrasebox.text_files import lines


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result of `extract_features`; `excluded` images have no picture. `out` is the written file, or
    ""."""

    corpus: str
    images: int
    excluded: int
    codebooks: str
    out: str


@dataclass(frozen=True, slots=True)
class Trained:
    """A stored system. `unchanged`: it existed already. `excluded` images have no picture or features.

    Of the `background_lines` of its background text, `background_excluded` were captions of the corpus. Of
    the mentions with boxes in the training images, `mentions` belong to a region of the set and are used for
    training; `mentions_excluded` do not. Both are 0 for a system that uses no mentions. `keep_last`: nothing
    was chosen, and its last model stays. `selection` describes settings that it chose, `remarks` the numbers
    that it was trained on.
    """

    system: str
    recipe: str
    corpus: str
    folder: str
    unchanged: bool
    training: int
    held_out: int
    excluded: int
    sha256: str
    background_lines: int
    background_excluded: int
    mentions: int = 0
    mentions_excluded: int = 0
    keep_last: bool = False
    selection: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def system_named(name: str) -> TrainedSystem:
    """Return the stored system; raises UnknownName listing what exists, and storage.BadModel."""
    folder = system_folder(name)
    if not name or not (folder / storage.MANIFEST).is_file():
        registry.system_row(name)  # where there is none, its error lists those there are
    return TrainedSystem.load(folder)


def extract_features(
    *, corpus: str, out: Path | None = None, seed: int = 0, progress: PhaseProgress = no_progress
) -> Extracted:
    """Learn codebooks from the corpus's pictures and cache every picture's words; later calls only read them.

    `out` is a new safetensors file of histograms, which trainings take as a feature file. Raises UnknownName,
    BadPicture, ValueError if the corpus has no pictures, and InputError.
    """
    if out is not None and (out.exists() or out.suffix != ".safetensors"):
        raise InputError(f"{out}: expected the name of a new file that ends in .safetensors")
    dataset = examples_of(corpus)
    words = count_words(dataset.examples, phase_cache=phase_cache(progress), seed=seed)
    if out is not None:
        shares = np.concatenate(words.shares("histogram"), axis=1)
        part = out.with_name(f"{out.name}.part")
        save_file({"vectors": shares}, part, {"ids": json.dumps([e.name for e in dataset.examples])})
        part.rename(out)
    return Extracted(
        corpus, len(words), len(dataset.absent), words.codebooks.digest, "" if out is None else str(out)
    )


def train_system(request: TrainingRequest, context: OperationContext) -> Trained:
    """Train the requested system, and store it; the registry stores who requested it.

    If the same system exists, nothing changes. If torchrun has started several processes, all must call this
    with the same arguments; the first one stores the result. Raises InputError if a different system has
    the name, and whatever reading and training raise; then no system remains.
    """
    with joined_processes(request.device) as (processes, device):
        checked = checked_training(replace(request, device=device), context)
        phases = PhaseShares(context.report_progress, checked.recipe.kind)
        return _train(checked, processes, registry.requested_by(context), phases)


def _train(
    checked: CheckedTraining,
    processes: Processes,
    requester: registry.RequestedBy,
    progress: PhaseProgress,
) -> Trained:
    request, chosen, sources, held_out = checked.request, checked.recipe, checked.sources, checked.held_out
    name, corpus, fold, seed, train = (
        request.name,
        request.corpus,
        request.fold,
        request.seed,
        request.train,
    )
    torch_on(request.device)
    check_processes(chosen)
    further = auxiliary_pairs(chosen, request.weak, sources.features)
    grounded = chosen.kind.grounding != "none"
    seen = examples_from(corpus, replace(sources, regions="") if grounded else sources)
    dataset = as_read(seen, chosen, sources, progress)
    if fold:
        training, held = _by_fold(dataset, fold, seed)
        if request.keep_last:
            training, held = sorted(training + held), []
    else:
        training = dataset.chosen(train, seed=seed)
        held = dataset.chosen(held_out, seed=seed) if held_out else []
    learned = set(training)
    further.check_apart(
        corpus, (example.name for n, example in enumerate(dataset.examples) if n not in learned)
    )
    metadata = {
        "corpus": corpus,
        "corpus_digest": dataset.digest,
        "recipe_digest": chosen.digest,
        "training": fold and f"all but fold {fold}{'' if request.keep_last else ' and the next'}" or train,
        "held_out": (fold and not request.keep_last) and f"the fold after {fold}" or held_out,
        "images": digest_of_parts([[dataset.examples[n].name for n in side] for side in (training, held)]),
        "training_images": len(training),
        "held_out_images": len(held),
        "seed": seed,
        **({"keep_last": True} if request.keep_last else {}),
        **_metadata_of(corpus, sources),
        **further.metadata,
        **({"parses": parses_of(corpus).digest} if chosen.reads == "edges" else {}),
    }
    texts_of_regions, mentions = None, (0, 0)
    if chosen.kind.items == "regions":
        texts_of_regions = region_texts(dataset, feature_set(corpus, sources.regions).boxes(), sources.layer)
        metadata["region_texts"] = digest_of_parts(
            [
                [row, list(texts)]
                for texts_of_image in texts_of_regions.of_image.values()
                for row, texts in texts_of_image
            ]
        )
        mentions = texts_of_regions.mentions(dataset.examples[n].name for n in training)
    pairs = None
    if grounded:
        names = [dataset.examples[n].name for n in training]
        pairs, mentions = regions_with_phrases(corpus, sources, names)
        metadata["region_texts"] = pairs.digest
    background = background_of([chosen], sources, corpus)
    metadata |= background.metadata
    # Given vectors that are compared directly learn from nothing, and choose nothing.
    sides = ([], []) if chosen.reads == "names" and not chosen.kind.selects else (training, held)
    images = images_of_training(dataset, *sides, sources, further)
    metadata[SEEN_FACT] = images.sentences
    folder = system_folder(name)
    kernels = training_folder(name)

    def result(*, unchanged: bool) -> Trained:
        stored = storage.read_manifest(folder)
        return Trained(
            name,
            chosen.name,
            corpus,
            str(folder),
            unchanged,
            len(training),
            len(held),
            len(dataset.absent),
            stored["sha256"],
            background.lines,
            background.excluded,
            *mentions,
            keep_last=request.keep_last,
            selection=tuple(stored["metadata"].get("selection", ())),
            remarks=tuple(stored["metadata"].get("remarks", ())),
        )

    def trained(store: PhaseCache) -> TrainedSystem:
        aids = resources_of(corpus, sources, background, store)
        check_resources(chosen, aids)  # fail before the pictures are processed
        if texts_of_regions is not None:
            form = chosen.kind.takes[IMAGE_VIEW]
            material = (
                texts_of_regions.prepared(dataset, training, form),
                texts_of_regions.prepared(dataset, held, form) if held else None,
            )
        else:
            whole = prepare(
                dataset.examples,
                cache=store,
                vectors=dataset.described(range(len(dataset.examples))),
                seed=seed,
                reads=chosen.reads,
            )
            material = whole.take(training), whole.take(held) if held else None
        return fit(
            chosen,
            *material,
            aids,
            cache=PhaseCache(store.folder, store.progress, kernels=kernels),
            options=FitOptions(
                metadata=metadata,
                device=request.device,
                seed=seed,
                auxiliary=further.pairs,
                sum_pairs=SharedSums(kernels / "pairs", progress),
                regions=pairs,
                seen=images.arrays,
            ),
        )

    if not processes.first:
        if processes.broadcast(None):
            trained(PhaseCache())
        processes.wait()
        return result(unchanged=False)
    with work_lock(f"system.{name}", "system", name):
        unchanged = folder.exists()
        registry.check_free(name, corpus, "recipe")
        if unchanged:
            existing = storage.read_manifest(folder)["metadata"]
            if any(existing.get(key) != value for key, value in metadata.items()):
                raise InputError(
                    f"system {name!r} already exists with a different recipe or other images; choose "
                    "another name"
                )
        else:
            clear_leftovers(name)
        processes.broadcast(not unchanged)
        if not unchanged:
            system = trained(phase_cache(progress))
            progress("storing", 0, 1)
            # A set that was removed meanwhile would prevent any ranking.
            sources.settled(corpus)
            system.save(folder)
            shutil.rmtree(kernels, ignore_errors=True)
        registry.register_stored_system(name, requester)
        processes.wait()
    return result(unchanged=unchanged)


@dataclass(frozen=True, slots=True)
class Background:
    """A background text without the captions of the corpus: `excluded` of its `lines` were captions."""

    sentences: list[str]
    lines: int
    excluded: int

    @property
    def metadata(self) -> dict[str, int]:
        """Return the entries for a system's manifest: empty where no text was read."""
        return {"background_lines": self.lines, "background_excluded": self.excluded} if self.lines else {}


def background_of(recipes: Sequence[Recipe], sources: Sources, corpus: str) -> Background:
    """Return the background text, if one of the recipes needs it, without the captions of `corpus`.

    Raises ValueError if it contains nothing else.
    """
    if not sources.background or not any(recipe.text.of_background for recipe in recipes):
        return Background([], 0, 0)
    text = [line.strip() for file in sources.background for _, line in lines(Path(file)) if line.strip()]
    sentences = without_captions(text, captions_of_corpus(corpus))
    if text and not sentences:
        raise ValueError(
            f"the background text is {len(text)} captions of corpus {corpus!r} and nothing else; give a "
            "text from elsewhere"
        )
    return Background(sentences, len(text), len(text) - len(sentences))


def resources_of(corpus: str, sources: Sources, background: Background, store: PhaseCache) -> Resources:
    """Return the resources that recipes need from `sources`; the background text as lemmas, if there is
    one."""
    wordnet = Path(sources.wordnet) if sources.wordnet else None
    words = None
    if sources.words:
        stored = feature_set(corpus, sources.words)
        words = WordVectorTable(stored.ids(), stored.vectors())
    captions = caption_vectors_of(corpus, sources.text) if sources.text else None
    if not background.sentences:
        return Resources(wordnet=wordnet, word_vectors=words, caption_vectors=captions)
    called = " and ".join(Path(file).name for file in sources.background)
    return Resources(
        read_sentences(background.sentences, cache=store),
        called,
        wordnet,
        background.lines,
        background.excluded,
        words,
        captions,
    )


def _by_fold(dataset: Examples, fold: str, seed: int) -> tuple[list[int], list[int]]:
    """Return training and held-out images when `fold` is left for testing."""
    named = FOLD.fullmatch(fold)
    if named is None:
        raise ValueError(f"fold {fold!r}: expected a fold and the number of folds, such as 1/5")
    test = set(dataset.chosen(fold, seed=seed))
    held = dataset.chosen(f"{int(named[1]) % int(named[2]) + 1}/{named[2]}", seed=seed)
    apart = test | set(held)
    training = [n for n in range(len(dataset.examples)) if n not in apart]
    return training, held


def _metadata_of(corpus: str, sources: Sources) -> dict[str, Any]:
    """Return the names and digests of the user's files and feature sets."""
    features = "" if is_label(sources.features) else sources.features
    files = [*sources.background, *filter(None, (features, sources.ids, sources.lemmas))]
    digests = {label: feature_set(corpus, label).digest for label in sources.sets.values()}
    for file in files:
        check_file(Path(file), "a file of the training")
        digests[file] = storage.file_digest(Path(file))
    return {
        "background": list(sources.background),
        "wordnet": sources.wordnet,
        "features": sources.features,
        "ids": sources.ids,
        "lemmas": sources.lemmas,
        **{field: label for field, label in sources.sets.items() if field != "features"},
        **({"layer": sources.layer} if sources.layer else {}),
        "files": digests,
    }
