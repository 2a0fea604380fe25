"""The evaluation part of the demonstration: systems, a batch and its qrels, a report, and a second batch.

Every step is stored when it is done, and skipped when it is requested again, so that an interrupted run
continues where it stopped. The report comes last and marks that everything exists.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings

from annotation.campaigns import gold_layer
from annotation.models import Campaign
from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from config.demonstration import files
from evaluation.models import Batch, Report, Run

#: The splits for training, for the control items on every page, and for ranking.
TRAIN, KNOWN, SPLIT = "train", "val", "test"
#: With fewer images in each split nothing can be trained or compared.
LEAST_IMAGES = 10
_PROTOCOL = "any of five"
_SYSTEMS = ("chance", "near", "kcca", "oracle")
#: Judges: mostly good ones, and two whom control items detect; and the few who are asked instead of these.
_WORKERS, MIX = 10, ["careful=6", "average=2", "random=1", "always_yes=1"]
INSTEAD, INSTEAD_MIX = 5, ["careful=1"]
#: Number of items pooled from each ranking, by batch, and the lowest BLEU_pre: less than usual, since
#: captions of so small a corpus share few words, and unjudged pairs show nothing.
DEPTHS = {"first": 5, "second": 8}
_THRESHOLD = 0.1
#: Measures of the printed table; pages and report have more.
_MEASURES = ("R@1", "S@1", "S@5", "R-precision", "nDCG@10")
DEMO_ROUNDS = 10_000


class Call(Protocol):
    """Prints a command as one would type it, and runs it."""

    def __call__(self, command: str, *args: Any, quiet: bool = ..., **options: Any) -> None: ...


@dataclass(frozen=True)
class DemoNames:
    """The names used; a corpus of unusual size or seed has a `suffix` after all names."""

    corpus: str
    suffix: str

    @property
    def gold(self) -> str:
        """The name of the judgments derived from the generated scenes."""
        return f"gold{self.suffix}"

    @property
    def qrels(self) -> str:
        """The name of the qrels from the batches' answers."""
        return f"pooled{self.suffix}"

    @property
    def report(self) -> str:
        """The name of the report."""
        return f"spring{self.suffix}"

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems."""
        return tuple(f"{system}{self.suffix}" for system in _SYSTEMS)

    def batch(self, which: str) -> str:
        """Return the name of the batch `which`."""
        return f"{which}{self.suffix}"

    def runs(self, direction: str) -> list[str]:
        """Return the names of all systems' runs of a direction."""
        return [f"{system}-{direction}" for system in self.systems]


def make_demo_evaluation(names: DemoNames, *, folder: Path, seed: int, call: Call) -> bool:
    """Create what does not exist yet, with files in `folder`; return False if the corpus is too small for
    it."""
    if Report.objects.filter(name=names.report).exists():
        return True
    corpus = corpus_named(names.corpus)
    if any(corpus.images.filter(split=split).count() < LEAST_IMAGES for split in (TRAIN, KNOWN, SPLIT)):
        return False
    records = list(stream_records(corpus=corpus, layer=gold_layer(corpus)))
    sources = Path(settings.DATA_DIR) / "sources"
    demo = files.make_demo_files(
        records, split=SPLIT, seed=seed, sources=sources, folder=folder, suffix=names.suffix
    )
    _upload_systems(names, demo, call)
    _judge(names, demo, seed, call)
    call(
        "build_report",
        names.report,
        qrels=names.qrels,
        runs=[*names.runs(Run.ANNOTATION), *names.runs(Run.SEARCH)],
        batch=names.batch("first"),
        against=names.gold,
        rounds=DEMO_ROUNDS,
    )
    return True


def _upload_systems(names: DemoNames, demo: files.Files, call: Call) -> None:
    """Train two systems, upload two, and rank with all of them."""
    for system, called in zip(_SYSTEMS, names.systems, strict=True):
        if system in demo.recipes:
            sources = {"recipe": str(demo.recipes[system]), "features": str(demo.features)}
            call("train_system", called, corpus=names.corpus, **sources, quiet=True)
        else:
            file = demo.scores[system]
            call("add_system", called, file, corpus=names.corpus, format="scores", quiet=True)
        call("rank", called, split=SPLIT, protocol=_PROTOCOL, quiet=True)


def _judge(names: DemoNames, demo: files.Files, seed: int, call: Call) -> None:
    """Take a batch from its pool to its qrels, and open a deeper one whose bad judges are not replaced
    yet."""
    call("import_judgments", names.corpus, demo.judgments, format="table", name=names.gold, quiet=True)
    first, second = names.batch("first"), names.batch("second")
    judges: dict[str, Any] = {"recorded": names.gold, "patience": 0, "quiet": True}
    if not _closed(first):
        if not _stands(first):
            call("open_batch", first, **_opening(names, demo, DEPTHS["first"]), quiet=True)
        call("simulate_judges", first, **judges, workers=_WORKERS, mix=MIX, seed=seed)
        call("reassign_pages", first)
        call("simulate_judges", first, **judges, workers=INSTEAD, mix=INSTEAD_MIX, seed=seed + 1)
        call("settle_batch", first, names.qrels)
        call("close_campaign", first, quiet=True)
    measures = ["--measures", ",".join(_MEASURES)]
    call("compare_runs", *names.runs(Run.SEARCH), "--qrels", names.qrels, *measures)
    if not _closed(second):
        if not _stands(second):
            call("open_batch", second, **_opening(names, demo, DEPTHS["second"]), quiet=True)
        call("simulate_judges", second, **judges, workers=_WORKERS, mix=MIX, seed=seed + 2)


def _opening(names: DemoNames, demo: files.Files, depth: int) -> dict[str, Any]:
    runs = [*names.runs(Run.ANNOTATION), *names.runs(Run.SEARCH)]
    return {
        "corpus": names.corpus,
        "runs": runs,
        "depth": depth,
        "threshold": _THRESHOLD,
        "known_from": KNOWN,
        "campaign_settings": demo.settings,
        "simulated": True,
    }


def _stands(batch: str) -> bool:
    return Batch.objects.filter(name=batch).exists()


def _closed(campaign: str) -> bool:
    return Campaign.objects.filter(name=campaign, state=Campaign.CLOSED).exists()


def demo_addresses(names: DemoNames, address: str) -> Iterator[str]:
    """Yield what was created, and its addresses."""
    first, second = names.batch("first"), names.batch("second")
    for what, path in (
        (f"systems {', '.join(names.systems)}, and their runs", ""),
        ("compare their results", f"compare/?{'&'.join(f'run={run}' for run in names.runs(Run.SEARCH))}"),
        (
            f"batch {first!r}: judged, reassigned in part, frozen as qrels {names.qrels!r}",
            f"batches/{first}/",
        ),
        (
            f"batch {second!r}: has inaccurate judges, and waits for you to reassign their pages",
            f"batches/{second}/",
        ),
        (f"report {names.report!r}: tables and figures", f"reports/{names.report}/"),
    ):
        yield f"  {what}: {address}/evaluation/{path}"
