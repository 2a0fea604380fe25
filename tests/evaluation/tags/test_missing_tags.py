"""Images without tags: refused with their number, left out, or counted as the worst, so that removing images
never improves a figure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.datasets.importing import import_records
from annotation.models import Corpus
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.comparison.missing import LEAVE_OUT, WORST, Missing, MissingOutput
from evaluation.models import TagSet
from evaluation.services.stored import get_or_publish
from evaluation.services.tagging import true_tags
from evaluation.services.tagging.scores import remarks_on_tags, score_tag_set, table_of_tags
from evaluation.services.tagging.sets import fill_tag_set, tag_set_named
from evaluation.services.tagging.true_tags import TagScoring
from phrasebox.agreement.summary import Resampling
from phrasebox.figure_basis import basis_from_dict

pytestmark = pytest.mark.django_db

CAPTIONS = (
    "A dog sees a cat.",
    "A man and a dog.",
    "A boat.",
    "A horse beside a tree.",
    "A cat in a tree.",
    "A man, a boat and a ball.",
)
IMAGES = range(len(CAPTIONS))
#: The nouns, and tags that fit no image.
NOUNS = ("ball", "boat", "cat", "dog", "horse", "man", "tree")
WORDS = (*NOUNS, *(f"wrong{n}" for n in range(12)))


@pytest.fixture
def corpus(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """Six images with a caption each; the lemmatiser is loaded once."""
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(true_tags, "TagReader", cache(true_tags.TagReader))
    records = [
        ImageRecord(f"{n}", f"{n}.png", (CaptionRecord(text),), "test", 100, 60)
        for n, text in enumerate(CAPTIONS)
    ]
    import_records(name="six", records=records, format="jsonl", source="memory")
    return Corpus.objects.get(name="six")


def scored(
    corpus: Corpus, seed: int, *, listed: bool, of: Collection[int], missing: Missing
) -> dict[str, Any]:
    """Return the figures of a system with the same tags for all images: scores of all nouns, or lists of up
    to six words, for the images `of`."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[int, list[list[Any]], bytes]] = []
    for pk in corpus.images.order_by("position").values_list("pk", flat=True):
        values = rng.integers(0, 5, len(NOUNS)).astype(np.float32)
        words = [str(word) for word in rng.permutation(WORDS)[: rng.integers(0, 7)]]
        tags: list[list[Any]] = [[word, 1 - index / 9] for index, word in enumerate(words)]
        rows.append((pk, tags if listed else [], b"" if listed else values.tobytes()))
    metadata: dict[str, Any] = {"corpus": corpus, "source": "file"}
    if not listed:
        metadata |= {"vocabulary": list(NOUNS), "settings": {"unit": "nouns", "alpha": 0.75}}
    TagSet.objects.all().delete()

    def handed_in() -> Iterator[tuple[int, list[list[Any]], bytes]]:
        yield from (rows[n] for n in sorted(of))

    get_or_publish(TagSet, "theirs", metadata, lambda new: fill_tag_set(new, handed_in()))
    how = TagScoring(distractors=(0, 2), missing=missing, resampling=Resampling(0))
    return score_tag_set(tag_set_named("theirs"), how=how)


def figures(report: dict[str, Any]) -> dict[tuple[str, int | None], float]:
    return {(measure["measure"], measure["distractors"]): measure["value"] for measure in report["measures"]}


EXAMPLES = settings().max_examples // 2
SUBSETS = st.sets(st.sampled_from(IMAGES), min_size=1)


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1), listed=st.booleans(), stored=SUBSETS, removed=SUBSETS)
def test_a_system_gains_nothing_by_handing_in_less(
    corpus: Corpus, seed: int, listed: bool, stored: set[int], removed: set[int]
) -> None:
    more = figures(scored(corpus, seed, listed=listed, of=stored | removed, missing=WORST))
    report = scored(corpus, seed, listed=listed, of=stored, missing=WORST)
    assert all(more[name] >= value - 1e-12 for name, value in figures(report).items())
    lacking = len(CAPTIONS) - len(stored)
    assert (report["images"], report["without_output"]) == (6, lacking)
    if lacking:
        with pytest.raises(MissingOutput, match=f"^{lacking} of 6 images .* have no tags in set 'theirs':"):
            score_tag_set(tag_set_named("theirs"), how=TagScoring())


def test_images_that_are_left_out_are_counted(corpus: Corpus) -> None:
    report = scored(corpus, 0, listed=True, of=(0, 1), missing=LEAVE_OUT)
    basis = basis_from_dict(report["basis"])
    assert (basis.counted, basis.out_of, basis.without_output) == (2, 6, 4)
    assert table_of_tags(report).remarks == [
        "Images: 2 of 6.",
        "Missing output: 4, left out.",
        "Pool: corpus six, all images; protocol: nouns of people's captions, alpha 0.75.",
        "theirs: Not known which images it learned from.",
    ]
    assert "2 images, 4 true tags among" in remarks_on_tags(report)
