"""Batches: time for a pool, a launch and qrels, and judgments saved by active pooling; prints tables.

    python -m studies.batches [--only pool|database|active] [--flickr8k FOLDER] [--rounds N]

- pool: 30 systems by 1,000 queries by 10 items in both directions, and BLEU_pre of all pairs pooled,
  each image with five made-up captions.
- database: a batch of 31,000 pairs planned and opened, and qrels frozen from 150,000 judgments, on
  SQLite in a temporary folder.
- active: how many judgments each strategy needs until its ranking of the systems is stable, and how far
  that ranking is from the full pool's (Kendall's tau-b, of two directions the smaller); five worlds, and five
  orders of the crowd's judgments of Flickr8k where FOLDER has them. Means, with the 95 % interval
  of Student's t over the five. With --rounds, with the patience of batches with this number of rounds.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import django
import numpy as np
from scipy import stats

from annotation.common.plain_text import text_table
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.services.batches.planning import BatchRequest
from phrasebox.pooling.active import STRATEGIES, PoolJudging, Stop, judge, stop_for
from phrasebox.pooling.pools import ANNOTATION, PairIds, Shortlist, Space, pool
from phrasebox.pooling.unlikely import BLEU_PRE_THRESHOLD, bleu_pre
from phrasebox.relevance.grades import JudgedPair
from studies.batches_problem import flickr8k, generated
from studies.measuring import seconds

SEEDS = range(5)
PAIRS, JUDGMENTS, JUDGES = 31_000, 150_000, 3


def sentences(images: int, per_image: int = 5) -> list[list[str]]:
    """Return made-up captions: some words of the image's own, some common to all, with realistic
    frequencies."""
    rng = np.random.default_rng(7)
    words = 4_000
    common = 1 / np.arange(1, words + 1)
    common /= common.sum()
    result = []
    for _ in range(images):
        words_of_sentence = rng.choice(words, 8, p=common)
        result.append(
            [
                " ".join(
                    f"word{n}" for n in (*rng.choice(words_of_sentence, 4), *rng.choice(words, 4, p=common))
                )
                for _ in range(per_image)
            ]
        )
    return result


def pooling() -> str:
    lists, space, _ = generated()
    captions = sentences(space.images)
    texts = [caption[0] for caption in captions]
    pooled, result = seconds(lambda: pool(lists, space, depth=10))
    filtered, values = seconds(lambda: bleu_pre(texts, captions, space, result.to_judge))
    rows = [
        ["union of 60 runs", len(result.pairs), pooled],
        ["BLEU_pre", int((values < BLEU_PRE_THRESHOLD).sum()), filtered],
        ["together", len(result.to_judge) - int((values < BLEU_PRE_THRESHOLD).sum()), pooled + filtered],
    ]
    return text_table(["step", "pairs (in, out, left)", "seconds"], rows)


def database() -> str:
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(DATA_DIR=folder, DJANGO_SETTINGS_MODULE="config.settings")
        os.environ.pop("DATABASE_URL", None)
        django.setup()
        return _database()


def _database() -> str:
    from django.core.management import call_command

    from annotation.datasets.importing import import_records
    from evaluation.services.batches.launching import launch
    from evaluation.services.batches.planning import plan
    from evaluation.services.judgments.freezing import freeze_qrels
    from evaluation.services.judgments.importing import JudgmentsTarget, store_judgments
    from evaluation.services.runs.files import RunMetadata, store_run

    call_command("migrate", verbosity=0)
    lists, space, relevant = generated()
    records = [
        ImageRecord(id=f"i{n}", filename=f"i{n}.jpg", captions=tuple(map(CaptionRecord, sentence)))
        for n, sentence in enumerate(sentences(space.images))
    ]
    import_records(name="made", records=records, format="jsonl", source="memory")
    for shortlist in lists:
        provenance = RunMetadata(shortlist.name, shortlist.direction, shortlist.of, "trec", "memory", "", 0)
        store_run(provenance, _named(shortlist), "made")
    rows = []
    taken, planned = seconds(
        lambda: plan(BatchRequest(corpus="made", runs=[shortlist.name for shortlist in lists]))
    )
    rows.append(["plan (60 runs read, pooled, filtered)", planned.pooled_pairs, taken])
    cut = replace(planned, selected=planned.selected[:PAIRS])
    taken, done = seconds(lambda: launch(cut, "batch", begin=False))
    assert done.opened is not None
    rows.append([f"launch ({done.opened.tasks} pages)", done.opened.pairs, taken])
    pairs = _judged(space, planned.selected, relevant)
    crowd = JudgmentsTarget(corpus="made", name="crowd", format="table", source="memory")
    taken, _ = seconds(lambda: store_judgments(pairs, crowd))
    rows.append([f"judgments kept ({len(pairs) * JUDGES} answers)", len(pairs), taken])
    taken, frozen = seconds(lambda: freeze_qrels(name="q", corpus="made", judgments="crowd"))
    rows.append([f"qrels frozen ({len(pairs) * JUDGES} answers)", frozen.rows, taken])
    return text_table(["step", "pairs", "seconds"], rows)


def _named(shortlist: Shortlist) -> Iterator[tuple[str, list[str], np.ndarray]]:
    images, captions = (lambda n: f"i{n}.jpg"), (lambda n: f"i{n}.jpg#0")
    asks, ranked = (images, captions) if shortlist.direction == ANNOTATION else (captions, images)
    for query, items in zip(shortlist.queries.tolist(), shortlist.lists.tolist(), strict=True):
        yield asks(query), [ranked(item) for item in items], -np.arange(len(items), dtype=np.float32)


def _judged(space: Space, first: PairIds, relevant: PairIds) -> list[JudgedPair]:
    """Return 150,000 answers: three each about the requested pairs, and about others to fill up."""
    others = np.setdiff1d(np.arange(space.images * space.captions), first)
    chosen = np.concatenate([first, others])[: JUDGMENTS // JUDGES]
    yes = np.isin(chosen, relevant)
    images, captions = space.parts(chosen)
    names = tuple(f"judge{n}" for n in range(JUDGES))
    return [
        JudgedPair(f"i{i}.jpg", f"i{c}.jpg#0", (float(y),) * JUDGES, names)
        for i, c, y in zip(images.tolist(), captions.tolist(), yes.tolist(), strict=True)
    ]


def active(folder: Path | None, rounds: int | None) -> str:
    stop = stop_for(1 / rounds) if rounds else Stop()
    worlds = {"generated": (generated(seed=seed) for seed in SEEDS)}
    if folder is not None:
        real = flickr8k(folder)
        worlds["Flickr8k's crowd"] = (real for _ in SEEDS)
    rows = []
    for name, world in worlds.items():
        pool_judgings: dict[str, list[PoolJudging]] = {}
        for seed, (lists, space, relevant) in enumerate(world):
            whole = pool(lists, space, depth=10)
            for strategy in STRATEGIES.keys():
                judging = judge(lists, whole, relevant, strategy=strategy, stop=stop, seed=seed)
                pool_judgings.setdefault(strategy, []).append(judging)
        for strategy, all_of_them in pool_judgings.items():
            shares, taus = (
                [judging.share for judging in all_of_them],
                [judging.tau for judging in all_of_them],
            )
            rows.append(
                [
                    *(name, strategy, round(np.mean([judging.pool for judging in all_of_them]))),
                    *(_interval(shares), f"{max(shares):.3f}", _interval(taus), f"{min(taus):.3f}"),
                    f"{sum(judging.stable for judging in all_of_them)} of {len(all_of_them)}",
                ]
            )
    head = ["judgments", "strategy", "pool", "share judged", "at most", "tau", "at least", "stable"]
    return text_table(head, rows)


def _interval(values: list[float]) -> str:
    mean, half = np.mean(values), stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return f"{mean:.3f} +- {half:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", choices=["pool", "database", "active"])
    parser.add_argument("--flickr8k", type=Path, metavar="FOLDER", help="Where the crowd's judgments lie")
    parser.add_argument("--rounds", type=int, metavar="N", help="Of active: at most so many")
    options = parser.parse_args()
    if options.only in (None, "pool"):
        print(pooling(), flush=True)
    if options.only in (None, "database"):
        print(database(), flush=True)
    if options.only in (None, "active"):
        if options.flickr8k is None:
            print("no --flickr8k: generated judgments only")
        print(active(options.flickr8k, options.rounds), flush=True)


if __name__ == "__main__":
    main()
