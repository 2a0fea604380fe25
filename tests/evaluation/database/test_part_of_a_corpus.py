"""The number of rows read about some images does not depend on the other images."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from django.db.models.sql import compiler

from annotation.models import Campaign, Caption, Corpus, Image, Judgment
from annotation.selectors.pair_judgments import pair_judgments, selected_pairs
from evaluation.comparison.comparisons import compare_runs
from evaluation.comparison.missing import LEAVE_OUT
from evaluation.comparison.subsets import Subset, subset_named
from evaluation.models import QrelsSnapshot
from evaluation.selectors import names_of, run_named
from evaluation.services.batches.collecting import collect
from evaluation.services.batches.launching import launch
from evaluation.services.batches.pooled_runs import pooled
from evaluation.services.batches.state import batch_state
from evaluation.services.judgments.freezing import freeze_protocol
from tests.evaluation.database.pooled_world import JUDGED, crowd, planned

pytestmark = pytest.mark.django_db(transaction=True)

#: Number of images added to those of the world, each with two captions.
MORE = 100


@contextmanager
def _rows_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Record how many rows each query reads."""
    read: list[int] = []
    batches: Callable[..., Iterator[list[Any]]] = compiler.cursor_iter

    def counted(*arguments: Any) -> Iterator[list[Any]]:
        for rows in batches(*arguments):
            read.append(len(rows))
            yield rows

    with monkeypatch.context() as patched:
        patched.setattr(compiler, "cursor_iter", counted)
        yield read


def _more_images(corpus: Corpus) -> None:
    """Add images of another split, which no run or batch uses."""
    created = Image.objects.bulk_create(
        Image(corpus=corpus, key=f"more{n}", filename=f"more{n}.jpg", position=1_000 + n, split="more")
        for n in range(MORE)
    )
    Caption.objects.bulk_create(
        Caption(image=image, number=number, text="More.") for image in created for number in range(2)
    )


def _statements_of(read_state: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """Return the result of `read_state` as text, and the number of rows that it reads."""
    with _rows_read(monkeypatch) as read:
        what = repr(read_state())
    return what, sum(read)


def test_comparing_runs_reads_no_row_of_images_that_nobody_ranks(
    pooled_runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    freeze_protocol(name="own", corpus="quay", protocol="first caption")
    test = subset_named("quay", "test")
    qrels = QrelsSnapshot.objects.select_related("corpus").get(name="own")

    def compared(names: list[str], subset: Subset | None) -> dict[str, Any]:
        return compare_runs(list(map(run_named, names)), qrels, rounds=10, subset=subset, missing=LEAVE_OUT)

    reported = [
        partial(compared, names, subset)
        for names in (pooled_runs[::2], pooled_runs[1::2])
        for subset in (None, test)
    ]
    before = [_statements_of(report_progress, monkeypatch) for report_progress in reported]
    _more_images(qrels.corpus)
    assert [_statements_of(report_progress, monkeypatch) for report_progress in reported] == before


def test_the_state_of_a_batch_reads_no_row_of_images_that_it_does_not_ask_about(
    pooled_runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = launch(planned(pooled_runs, depth=2), "first").batch
    crowd(batch.campaign, {"perfect": 3})
    collect("first")
    again = partial(planned, pooled_runs, depth=3, simulated=True)
    launch(again(), "later")
    state, later = batch_state("first", omissions=True), batch_state("later")
    assert state.loss is not None and state.omissions is not None and state.collected and later.reused
    messages: list[Callable[[], Any]] = [
        partial(batch_state, "first", omissions=True),
        partial(batch_state, "later"),
        lambda: again().numbers(),
    ]
    before = [_statements_of(report_progress, monkeypatch) for report_progress in messages]
    _more_images(batch.corpus)
    assert [_statements_of(report_progress, monkeypatch) for report_progress in messages] == before


def test_a_batch_is_collected_only_while_its_judgments_hold_its_answers(pooled_runs: list[str]) -> None:
    batch = launch(planned(pooled_runs, depth=1, threshold=0), "first").batch
    crowd(batch.campaign, {"perfect": 3})
    collect("first")
    assert batch_state("first").collected
    judgment = Judgment.objects.filter(campaign=batch.campaign, image__isnull=False).earliest("pk")
    assert judgment.content is not None
    yes = judgment.content["blocks"][0]["yes"]
    yes[0] = 1 - yes[0]
    judgment.save()
    assert not batch_state("first").collected, "as many answers, and others"
    yes[0] = 1 - yes[0]
    judgment.save()
    assert batch_state("first").collected


def test_pairs_are_asked_by_the_names_that_their_captions_have(pooled_runs: list[str]) -> None:
    plan = planned(pooled_runs, threshold=0)
    names = names_of("quay")
    images, captions = plan.pooled.ids(plan.selected)
    expected = [
        (names.image_name[image], names.image_name[names.owner[caption]], names.number[caption])
        for image, caption in zip(images.tolist(), captions.tolist(), strict=True)
    ]
    requested = plan.pooled.called(plan.selected)
    called = ((pair.image, *pair.caption.rsplit("#", 1)) for pair in requested)
    assert [(f"{i}.jpg", f"{owner}.jpg", int(n)) for i, owner, n in called] == expected
    batch = launch(plan, "first").batch
    assert {pair[:2] for pair in selected_pairs(batch.campaign)} == set(
        zip(images.tolist(), captions.tolist(), strict=True)
    )


def test_a_run_of_one_direction_is_pooled_with_the_images_of_its_captions(pooled_runs: list[str]) -> None:
    alone = pooled("quay", [run_named("sharp-annotation")])
    both = pooled("quay", [run_named(name) for name in ("sharp-annotation", "sharp-search")])
    assert alone.image.tolist() == both.image.tolist() and len(alone.image) == JUDGED
    assert alone.caption.tolist() == both.caption.tolist()
    names = names_of("quay")
    owners = [names.owner[caption] for caption in alone.caption.tolist()]
    assert alone.image[alone.space.owner].tolist() == owners


def test_judgments_of_graded_pairs_name_the_captions_that_were_asked_about(pooled_runs: list[str]) -> None:
    batch = launch(planned(pooled_runs, tasks="graded", depth=1, threshold=0, judges=1), "graded").batch
    crowd(batch.campaign, {"perfect": 2})
    requested = {pair[:2] for pair in selected_pairs(Campaign.objects.get(pk=batch.campaign_id))}
    assert {
        (pair_judgment.image, pair_judgment.caption) for pair_judgment in pair_judgments(batch.campaign)
    } == requested
