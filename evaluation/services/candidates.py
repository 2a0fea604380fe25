"""Corpora of candidates: texts of several systems for the same images, mixed blindly, for people to judge.

Each different text of an image is a caption of the corpus, and each system has a run in which the image ranks
the system's own texts. So a batch pools them and asks about each text of an image once, and every system is
scored, compared and reported like a ranking. No page shows which system a text is from.

Source: Hodosh et al. 2013, section 4.3 (judging a pool).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from annotation.datasets.importing import import_records
from annotation.protocol.terms import CaptionRecord, ImageRecord
from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from evaluation.models import Run
from evaluation.models.stored import StoredPredictions
from evaluation.selectors import CANDIDATES, names_of
from evaluation.services.common import InputError
from evaluation.services.runs.files import RunMetadata, store_run
from models_core.phase_cache import PhaseProgress, no_progress

#: The splits of a corpus of candidates: images to be judged, and images for control items.
JUDGED, CONTROLS = "judged", "controls"

#: A system's texts for an image with their scores, best first.
RankedTexts = Sequence[tuple[str, float]]


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """A corpus of candidates to create: its `name`, and texts for images of `corpus`, by row id.

    `judged`: the texts of each image to be judged; `controls`: those of the images for control items, where a
    wrong text is marked as unrelated. The order of texts carries no information. `source` says where they
    come from.
    """

    name: str
    corpus: str
    judged: Mapping[int, Sequence[CaptionRecord]]
    controls: Mapping[int, Sequence[CaptionRecord]]
    source: str


def check_alike(sets: Sequence[StoredPredictions]) -> None:
    """Raise InputError for sets of different corpora, and for a set named twice."""
    names = [row.name for row in sets]
    for row in sets:
        word = row._meta.verbose_name
        if row.corpus_id != sets[0].corpus_id:
            raise InputError(
                f"{word} {row.name!r} is of corpus {row.corpus.name!r}, not {sets[0].corpus.name!r}; choose "
                "sets of one corpus"
            )
        if names.count(row.name) > 1:
            raise InputError(f"{word} {row.name!r} is named twice; name it once")


def import_candidates(candidates: Candidates, *, phase: str, progress: PhaseProgress = no_progress) -> None:
    """Import the corpus; repeating it changes nothing. Raises UnknownName, IntakeError and Busy."""
    corpus, names = corpus_named(candidates.corpus), names_of(candidates.corpus)
    texts_of_image = {**candidates.judged, **candidates.controls}

    def records() -> Iterator[ImageRecord]:
        done = 0
        for pk, record in zip(names.image_name, stream_records(corpus=corpus), strict=True):
            if pk in texts_of_image:
                progress(phase, done, len(texts_of_image))
                done += 1
                yield ImageRecord(
                    record.id,
                    record.filename,
                    tuple(texts_of_image[pk]),
                    JUDGED if pk in candidates.judged else CONTROLS,
                    record.width,
                    record.height,
                    record.picture,
                    external_id=record.external_id,
                )

    import_records(name=candidates.name, records=records(), format=CANDIDATES, source=candidates.source)


def store_candidate_runs(
    candidates: Candidates,
    by_system: Mapping[str, Mapping[int, RankedTexts]],
    *,
    what: str,
    depth: int,
) -> tuple[str, ...]:
    """Store a run for each system, in which each image with texts of the system ranks them.

    `what` describes the texts, for the run's source. Returns the names of the runs, CORPUS-SYSTEM. Raises as
    `store_run` does.
    """
    names, target = names_of(candidates.name), corpus_named(candidates.name)
    key_of = dict(corpus_named(candidates.corpus).images.values_list("pk", "key"))
    written: dict[str, dict[str, str]] = {}
    asks: dict[str, str] = {}
    rows = target.images.filter(split=JUDGED).order_by("position", "captions__number")
    for image, key, caption, text in rows.values_list("pk", "key", "captions__pk", "captions__text"):
        asks[key] = names.image_name[image]
        written.setdefault(key, {})[text] = names.caption_name[caption]
    base_record = RunMetadata(
        name="",
        direction=Run.ANNOTATION,
        system="",
        format=CANDIDATES,
        source="",
        source_digest="",
        depth=depth,
        split=JUDGED,
    )
    run_names = []
    for system, images in by_system.items():
        texts_of_key = {key_of[pk]: texts for pk, texts in images.items()}
        its = replace(
            base_record,
            name=f"{candidates.name}-{system}",
            system=system,
            source=f"{what} of {system}",
        )
        rankings = (
            (
                name,
                [written[key][text] for text, _ in texts_of_key[key]],
                np.array([score for _, score in texts_of_key[key]], np.float32),
            )
            for key, name in asks.items()
            if texts_of_key.get(key)
        )
        run_names.append(store_run(its, rankings, candidates.name).run)
    return tuple(run_names)


def shuffled(rng: np.random.Generator, texts: set[str]) -> list[str]:
    """Return the texts in a random order, which carries no information."""
    ordered = sorted(texts)
    return [ordered[index] for index in rng.permutation(len(ordered))]
