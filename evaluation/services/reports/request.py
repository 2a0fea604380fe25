"""The request for a report: resolves names to rows and lists all inputs; only reads."""

import hashlib
import json
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Annotated, Any, NamedTuple

from django.utils import translation
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import FieldError, Help, Named, OneOf, result_of
from annotation.selectors.campaign.cached import cached_figure
from annotation.selectors.corpora import corpus_named
from annotation.selectors.pair_judgments import withdrawn_judges
from evaluation.comparison.missing import REFUSE, Missing, missing_choices
from evaluation.comparison.original_pairs import AnyQrels, original_pairs
from evaluation.comparison.subsets import IN_FILE, BadSubset, Subset, subset_named
from evaluation.models import Batch, JudgmentSet, QrelsSnapshot, Report, ReportRun, Run, TagSet
from evaluation.reporting.document import REPORT_DEFINITION, BatchNumbers
from evaluation.selectors import judgment_set, run_named, snapshot_named
from evaluation.services.batches.collecting import batch_named, staying_out
from evaluation.services.batches.stamps import batch_stamp
from evaluation.services.batches.state import batch_state
from evaluation.services.runs.figures import chosen_relevance
from evaluation.services.stored_kinds import BATCHES, JUDGMENT_SETS, QRELS, STORED_RUNS, TAG_SETS
from evaluation.services.tagging.sets import tag_set_named
from phrasebox.agreement.estimates import MOST_RESAMPLES
from phrasebox.errors import PhraseboxError
from phrasebox.metrics.table import METRICS
from phrasebox.registry import UnknownName
from phrasebox.significance.randomisation import MOST_ROUNDS, ROUNDS

RESAMPLES, LEVEL = 1_000, 0.95
#: Seconds for which a batch's numbers are cached; the cache key covers what they are made from.
_CACHE_SECONDS = 24 * 3600
_PACKAGES = ("Django", "matplotlib", "numpy", "scipy")


class ReportError(PhraseboxError):
    """A report that cannot be built; one line with the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """Tables and figures of runs, for a paper, as HTML, JSON, LaTeX, CSV, SVG and PDF. Runs of both
    directions are combined. An existing report from the same inputs is unchanged."""

    name: Annotated[str, Named(), Help(_("Name"))]
    qrels: Annotated[
        Annotated[str, Named(QRELS)] | None,
        Help(_("Qrels"), _("NAME, the newest version, or NAME:VERSION; by default the original pairs")),
    ] = None
    runs: Annotated[
        Sequence[Annotated[str, Named(STORED_RUNS)]],
        Field(min_length=1, max_length=200),
        Help(_("Runs"), _("Runs of one or both directions")),
    ]
    baseline: Annotated[
        Sequence[Annotated[str, Field(max_length=100)]],
        Field(max_length=2),
        Help(
            _("Baseline"),
            _("The run or system that the others are compared with; by default the first run of a direction"),
        ),
    ] = ()
    measures: Annotated[
        Sequence[Annotated[str, Field(max_length=60)]],
        Field(max_length=50),
        Help(
            _("Measures"),
            _("By default R@1, R@5, R@10, median rank, S@1, S@5, S@10 and R-precision"),
            only_commas=True,
        ),
    ] = ()
    batch: Annotated[Annotated[str, Named(BATCHES)] | None, Help(_("Batch"), _("Include its numbers"))] = None
    against: Annotated[
        Annotated[str, Named(JUDGMENT_SETS)] | None,
        Help(_("Judgments by others"), _("Measure agreement with them")),
    ] = None
    tags: Annotated[
        Sequence[Annotated[str, Named(TAG_SETS)]],
        Field(max_length=100),
        Help(_("Tag sets"), _("Score them too")),
    ] = ()
    split: Annotated[
        str,
        Field(max_length=200),
        Help(
            _("Images"),
            _(
                "A split, a fold such as 1/5, or run:NAME for the images that a run ranks; by default all "
                "images of the qrels"
            ),
        ),
    ] = ""
    missing: Annotated[Missing, OneOf(missing_choices), Help(_("Queries that a run does not rank"))] = REFUSE
    seed: Annotated[int, Field(ge=0, le=10**9 - 1), Help(_("Seed"))] = 0
    rounds: Annotated[int, Field(ge=1, le=MOST_ROUNDS), Help(_("Permutations of the randomisation test"))] = (
        ROUNDS
    )
    resamples: Annotated[int, Field(ge=1, le=MOST_RESAMPLES), Help(_("Resamples of the bootstrap"))] = (
        RESAMPLES
    )
    level: Annotated[float, Field(gt=0, lt=1), Help(_("Confidence level of the intervals"))] = LEVEL
    replace: Annotated[bool, Help(_("Replace a report of this name"))] = False

    def problems(self) -> Iterator[FieldError]:
        """Errors: runs and tag sets that are named twice."""
        for field, names in (("runs", self.runs), ("tags", self.tags)):
            for number, name in enumerate(names):
                if name in names[:number]:
                    yield FieldError(f"{field}.{number}", "repeated", {"value": name})


@dataclass(frozen=True)
class ReportRows:
    """The requested rows: runs and baselines by direction, those with image queries first."""

    request: ReportRequest
    snapshot: AnyQrels
    runs: Mapping[str, Sequence[Run]]
    baselines: Mapping[str, Run]
    batch: BatchNumbers | None
    batch_row: Batch | None
    others: JudgmentSet | None
    subset: Subset | None
    inputs: Mapping[str, Any]
    tags: Sequence[TagSet] = ()


def system_of(run: Run) -> str:
    """Return the system of a run: the registered one, or else the run's tag."""
    return run.made_by.name if run.made_by is not None else run.system


def report_rows(request: ReportRequest, *, by_path: bool = False) -> ReportRows:
    """Return the requested rows; `by_path`: a split may be a file of names.

    Raises UnknownName, UnknownMeasure, BatchError, InputError, PhraseboxError, FormatError, else ReportError.
    """
    runs = [run_named(name) for name in request.runs]
    try:
        subset = subset_named(runs[0].corpus.name, request.split, files=by_path)
    except BadSubset as error:
        raise ReportError(str(error)) from error
    snapshot = chosen_relevance(request.qrels, runs, subset)
    for run in runs:
        if run.corpus_id != snapshot.corpus_id:
            raise PhraseboxError(
                f"run {run.name!r} is of corpus {run.corpus.name!r}, qrels '{snapshot}' of "
                f"{snapshot.corpus.name!r}; leave it out"
            )
    by_direction = _by_direction(runs)
    baselines = _baselines(by_direction, request.baseline)
    for measure in request.measures:
        METRICS.find(measure, family="ranking")
    batch = batch_named(request.batch) if request.batch else None
    if batch is not None and batch.corpus_id != snapshot.corpus_id:
        raise ReportError(f"batch {batch.name!r} is of corpus {batch.corpus.name!r}; leave it out")
    if request.against and snapshot.judgments is None:
        raise ReportError(
            f"qrels '{snapshot}' were not made from judgments; leave out the judgments to compare with"
        )
    others = judgment_set(snapshot.corpus.name, request.against) if request.against else None
    tags = [tag_set_named(name, snapshot.corpus.name) for name in request.tags]
    numbers = batch_numbers(batch, fresh=True) if batch is not None else None
    return ReportRows(
        request,
        snapshot,
        by_direction,
        baselines,
        numbers,
        batch,
        others,
        subset,
        _inputs(
            request,
            snapshot,
            by_direction,
            baselines,
            numbers,
            others,
            # Folders of this machine are private.
            subset.called if subset is not None and subset.called.startswith(IN_FILE) else request.split,
            _digest_of_images(subset, snapshot.corpus),
        )
        | _of_tags(tags),
        tags,
    )


class ReportSources(NamedTuple):
    """The current sources of reports: the newest version of qrels by name, the runs of reports by id."""

    qrels: Mapping[str, QrelsSnapshot]
    runs: Mapping[int, Sequence[Run]]


def report_sources(rows: Sequence[Report]) -> ReportSources:
    """Return the sources of these reports, with two queries for any number."""
    names = {row.qrels.name for row in rows if row.qrels is not None}
    versions = QrelsSnapshot.objects.filter(published=True, name__in=names).select_related(
        "corpus", "judgments"
    )
    runs: dict[int, list[Run]] = {row.pk: [] for row in rows}
    its = ReportRun.objects.filter(report__in=rows).select_related("run__made_by", "run__corpus")
    for report_run in its.order_by("position"):
        runs[report_run.report_id].append(report_run.run)
    return ReportSources({row.name: row for row in versions.order_by("version")}, runs)


def inputs_now(
    row: Report, numbers: Callable[[Batch], BatchNumbers], sources: ReportSources
) -> dict[str, Any]:
    """Return the inputs that an existing report would have if it were built now: the newest version of its
    qrels, everything else the same.

    `numbers` returns those of a batch. Raises as `report_rows` does, where something was removed.
    """
    settings = row.inputs["settings"]
    runs = sources.runs[row.pk]
    request = ReportRequest(
        name=row.name,
        qrels=row.qrels.name if row.qrels is not None else None,
        runs=[run.name for run in runs],
        batch=row.batch.name if row.batch is not None else None,
        **{name: settings[name] for name in ("measures", "against", "seed", "rounds", "resamples", "level")},
        missing=settings.get("missing", ""),
    )
    # A report uses the images that a file named when it was built, whatever the file contains now.
    split, images = settings.get("split", ""), settings.get("images", "")
    try:
        subset = subset_named(row.corpus.name, split, files=False) if split else None
    except BadSubset as error:
        raise ReportError(str(error)) from error
    except UnknownName:
        if not split.startswith(IN_FILE):
            raise
        subset = None
    else:
        images = _digest_of_images(subset, row.corpus)
    snapshot: AnyQrels
    if row.qrels is None:
        snapshot = original_pairs(runs, subset)
    else:
        snapshot = sources.qrels.get(row.qrels.name) or snapshot_named(row.qrels.name)
    return _inputs(
        request,
        snapshot,
        _by_direction(runs),
        {
            direction: run
            for direction, name in settings["baseline"].items()
            for run in runs
            if run.name == name
        },
        numbers(row.batch) if row.batch is not None else None,
        judgment_set(snapshot.corpus.name, request.against) if request.against else None,
        split,
        images,
    ) | _of_tags([tag_set_named(tag_set["tags"]) for tag_set in row.inputs.get("tags", ())])


def batch_numbers(batch: Batch, *, fresh: bool = False) -> BatchNumbers:
    """Return a batch's numbers for a report: cached until anything they are made from changes, or with
    `fresh` recomputed."""
    what = f"batch-numbers-{batch_stamp(batch, answers=True)}"
    return cached_figure(batch.campaign, what, lambda: _numbers(batch), fresh=fresh, seconds=_CACHE_SECONDS)


def _by_direction(runs: Sequence[Run]) -> dict[str, Sequence[Run]]:
    return {
        direction: of_direction
        for direction in (Run.ANNOTATION, Run.SEARCH)
        if (of_direction := [run for run in runs if run.direction == direction])
    }


def _baselines(runs: Mapping[str, Sequence[Run]], named: Sequence[str]) -> dict[str, Run]:
    """Return for each direction the run that others are compared with: the requested one, or the run of the
    requested system.

    Without a request it is the first of each direction.
    """
    if not named:
        return {direction: of_direction[0] for direction, of_direction in runs.items()}
    chosen: dict[str, Run] = {}
    for name in named:
        there = [run for of_direction in runs.values() for run in of_direction]
        its = [run for run in there if run.name == name]
        its += [
            run
            for run in there
            if run not in its and system_of(run) and system_of(run) in {name, *map(system_of, its)}
        ]
        if not its:
            raise ReportError(
                f"baseline {name!r} is not one of the runs ({', '.join(run.name for run in there)}) or "
                "their systems"
            )
        for run in its:
            chosen.setdefault(run.direction, run)
    for direction, of_direction in runs.items():
        if direction not in chosen and len(of_direction) > 1:
            raise ReportError(
                f"baseline {', '.join(named)} has no run in {direction}; add a baseline from "
                f"{', '.join(run.name for run in of_direction)}"
            )
    return {direction: chosen.get(direction, of_direction[0]) for direction, of_direction in runs.items()}


def digest_of_data(data: Mapping[str, Any]) -> str:
    """Return the SHA-256 of plain data, such as all inputs of a report, in hexadecimal."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _inputs(
    request: ReportRequest,
    snapshot: AnyQrels,
    runs: Mapping[str, Sequence[Run]],
    baselines: Mapping[str, Run],
    batch: BatchNumbers | None,
    others: JudgmentSet | None,
    split: str,
    images: str,
) -> dict[str, Any]:
    judgments = snapshot.judgments
    corpus = snapshot.corpus if snapshot.corpus.published else corpus_named(snapshot.corpus.name)
    return {
        "corpus": {"corpus": corpus.name, "digest": corpus.digest},
        "qrels": {
            "name": snapshot.name,
            "version": snapshot.version,
            "digest": snapshot.digest,
            "rule": snapshot.rule,
            "originals": snapshot.originals,
            "pool": snapshot.pool,
            "subset": snapshot.subset,
            "source": snapshot.source,
            "rows": snapshot.row_count,
            "judgments": judgments.name if judgments else "",
            "judgments_digest": judgments.digest if judgments else "",
            **({"simulated": True} if judgments and judgments.simulated else {}),
        },
        "runs": [_of_run(run) for of_direction in runs.values() for run in of_direction],
        "settings": {
            "measures": [METRICS.find(name).name for name in request.measures],
            "baseline": {direction: run.name for direction, run in baselines.items()},
            "split": split,
            "images": images,
            "missing": request.missing,
            "seed": request.seed,
            "rounds": request.rounds,
            "resamples": request.resamples,
            "level": request.level,
            "against": others.name if others else "",
            "against_digest": others.digest if others else "",
        },
        "batch": None
        if batch is None
        else {
            "name": batch.batch,
            "state": batch.state,
            "judges": batch.judges,
            "answers": batch.answers,
            "judged": batch.judged,
            "short": batch.short,
            "earned": batch.earned,
            "unused": len(batch.unused),
            "withdrawn": len(batch.withdrawn),
            # The other contents (texts, numbers, the filter's loss) change with earlier batches too.
            "digest": digest_of_data(asdict(batch)),
        },
        "versions": {
            "report": REPORT_DEFINITION,
            "python": platform.python_version(),
            **{name: version(name) for name in _PACKAGES},
        },
    }


def _of_tags(tags: Sequence[TagSet]) -> dict[str, Any]:
    """Return tag sets with their origin; empty for a report without any."""
    inputs = [
        {
            "tags": tag_set.name,
            "system": tag_set.made_by.name if tag_set.made_by else "",
            "digest": tag_set.digest,
            "settings": tag_set.settings,
            "split": tag_set.split,
        }
        for tag_set in tags
    ]
    return {"tags": inputs} if inputs else {}


def _digest_of_images(subset: Subset | None, corpus: Any) -> str:
    """Return the SHA-256 of the keys of a subset's images; "" for all images."""
    if subset is None:
        return ""
    keys = corpus.images.filter(pk__in=subset.images).order_by("key").values_list("key", flat=True)
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()


def _of_run(run: Run) -> dict[str, Any]:
    """Return a run with its origin; folders of the machine that it was read on are private."""
    return {
        "run": run.name,
        "system": system_of(run),
        "direction": run.direction,
        "digest": run.digest,
        "queries": run.query_count,
        "entries": run.entry_count,
        "depth": run.depth,
        "format": run.format,
        "source": re.sub(r"\S*/", "", run.source),
        "source_digest": run.source_digest,
        "split": run.split,
        "protocol": run.protocol,
        "seed": run.seed,
        "system_digest": run.system_digest,
        "trained_on": run.made_by.trained_on if run.made_by is not None else "",
        "remarks": run.remarks,
    }


def _numbers(batch: Batch) -> BatchNumbers:
    # Money is formatted by language, and a report has one language.
    with translation.override("en"):
        now = batch_state(batch.name)
    withdrawn = withdrawn_judges(batch.campaign)
    return result_of(
        BatchNumbers,
        now,
        answers_per_pair=now.judges,
        filling=asdict(now.filling),
        judges=sum(
            person.answers > person.excluded and name not in withdrawn for name, person in now.people.items()
        ),
        unused=sorted(why for name, why in now.unused.items() if name not in withdrawn),
        withdrawn=sorted(why or "no reason given" for why in withdrawn.values()),
        before=sum(staying_out(now.people).values()),
        counted=sum(person.before for person in now.people.values() if person.counted),
        askable=None if now.rounds is None else now.rounds.askable,
        loss=None if now.loss is None else asdict(now.loss),
    )
