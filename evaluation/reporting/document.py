"""A report: its inputs, its findings, and the sections that present them.

Two reports of the same inputs are equal. `changed_inputs` describes differences of inputs.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evaluation.figures import agreement, curves, judgments, ranks, sweeps, systems
from evaluation.figures.base import Plot
from evaluation.report_data import tables
from evaluation.report_data.directions import ANNOTATION_TABLE, DirectionTable, basis_of_directions
from evaluation.report_data.judging import JudgingSummary
from evaluation.report_data.orders import BY_JUDGMENTS, BY_ORIGINALS, OrderAgreement, first_of, orders_of
from evaluation.report_data.tables import Titled, level_text
from evaluation.report_data.tag_scores import ScoredTags, basis_of_tags, tag_remarks, tag_tables
from phrasebox.agreement.estimates import FEW_CLUSTERS
from phrasebox.figure_basis import FigureBasis
from phrasebox.figure_tables import Cell

#: Increase this when the meaning of a report's files changes.
REPORT_DEFINITION = 1


@dataclass(frozen=True, slots=True)
class BatchNumbers:
    """A batch at the time of the report: `numbers` are the plan, the rest its results.

    Of the pairs judged before, `lacking` have fewer answers now than requested. `judges` have answers that
    count; `unused` has the reason why others' do not, and `withdrawn` why those of others were withdrawn, as
    texts. `before` are excluded answers that their judges gave before the rules suspended and somebody
    reinstated them; `counted` are those that count, since these judges were named explicitly. `answers` is
    every answer submitted, including control items and later withdrawals. `askable` is the number of pairs
    that could be asked where a batch asks in rounds, else None. `filling` is how full the pages are, as
    `protocol.paging.Filling`; empty for graded pairs. `loss` is what the filter loses, as
    `pooling.unlikely.FilterLoss`, None if it is unknown.
    """

    batch: str
    tasks: str
    state: str
    depth: int
    threshold: float | None
    answers_per_pair: int
    numbers: Mapping[str, Any]
    judged: int
    short: int
    lacking: int
    answers: int
    earned: str
    filling: Mapping[str, int]
    judges: int
    unused: Sequence[str]
    withdrawn: Sequence[str]
    before: int
    counted: int
    askable: int | None
    loss: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report: remarks, then tables and figures."""

    title: str
    remarks: Sequence[str]
    tables: Sequence[Titled]
    plots: Sequence[Plot]


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """`inputs` is everything that it was made from (settings, digests, versions), as plain data."""

    name: str
    inputs: Mapping[str, Any]
    directions: Sequence[DirectionTable]
    batch: BatchNumbers | None
    judging: JudgingSummary | None
    no_judging: str
    tags: Sequence[ScoredTags] = ()

    @property
    def orders(self) -> list[OrderAgreement]:
        """Return every two comparable measures, with their agreement on the order of the systems."""
        return orders_of(self.directions)

    def findings(self) -> dict[str, Any]:
        """Return every number, as plain data."""
        return {
            "directions": [asdict(part) for part in self.directions],
            "orders": [asdict(part) for part in self.orders],
            "batch": None if self.batch is None else asdict(self.batch),
            "judging": None if self.judging is None else asdict(self.judging),
            **({"tags": list(self.tags)} if self.tags else {}),
        }


def sections_of(report: ReportDocument) -> list[Section]:
    """Return the sections of a report, in reading order."""
    sections = [_of_direction(report, direction) for direction in report.directions]
    if report.orders and (
        correlations := tables.orders(report.orders, basis=basis_of_directions(report.directions))
    ):
        scatter = systems.plot(report.directions, report.orders)
        sections.append(Section("Rankings of the systems", [], [correlations], [scatter] if scatter else []))
    if report.tags:
        sections.append(_of_tags(report))
    if report.batch is not None:
        sections.append(_of_batch(report.batch))
    sections.append(_of_judging(report))
    return sections


def changed_inputs(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the differences between a report's inputs before and now, a phrase each; empty where nothing
    changed."""
    changes: list[str] = []
    old, new = before["qrels"], now["qrels"]
    if any(old[key] != new[key] for key in ("name", "version", "digest")):
        changes.append(f"qrels are {_called(new)}, were {_called(old)}")
    runs = {run["run"]: run for run in before["runs"]}
    for run in now["runs"]:
        if run["run"] not in runs:
            changes.append(f"run {run['run']!r} is new")
        elif run["digest"] != runs.pop(run["run"])["digest"]:
            changes.append(f"run {run['run']!r} has other rankings")
    gone = sorted(set(runs) - {run["run"] for run in now["runs"]})
    changes += [f"run {name!r} was removed" for name in gone]
    sets = {tag_set["tags"]: tag_set for tag_set in before.get("tags", ())}
    for tag_set in now.get("tags", ()):
        same = sets.get(tag_set["tags"])
        if same is None or same["digest"] != tag_set["digest"]:
            changes.append(f"tag set {tag_set['tags']!r} {'is new' if same is None else 'has other tags'}")
    left = sorted(set(sets) - {tag_set["tags"] for tag_set in now.get("tags", ())})
    changes += [f"tag set {name!r} was left out" for name in left]
    for key, word in (("settings", ""), ("batch", "batch "), ("versions", "version of ")):
        olds, news = before.get(key) or {}, now.get(key) or {}
        changed = [name for name in sorted({*olds, *news}) if olds.get(name) != news.get(name)]
        if key == "batch" and changed == ["digest"]:
            changes.append("other data of the batch changed")
            continue
        changes += [
            f"{word}{name} is {news.get(name)!r}, was {olds.get(name)!r}"
            for name in changed
            if (key, name) != ("batch", "digest")
        ]
    if not changes and dict(before) != dict(now):
        changes.append("other data of the runs, or their order, changed")
    return changes


def _called(qrels: Mapping[str, Any]) -> str:
    """Return the name of qrels with their version; original pairs have none."""
    name, version = qrels["name"], qrels["version"]
    return name if version is None else f"{name} version {version}"


def _of_direction(report: ReportDocument, direction: DirectionTable) -> Section:
    settings = report.inputs["settings"]
    judged = not report.inputs["qrels"]["pool"]
    level, resamples = settings["level"], settings["resamples"]
    section_tables = [
        tables.figures(direction, judged=judged, level=level),
        tables.intervals(direction, level=level, resamples=resamples),
        tables.bounds(direction) if judged else None,
        tables.tests(direction),
    ]
    remarks = _lead(direction)
    remarks += [*direction.remarks, *_few(direction)]
    undefined = [
        name for name in direction.measures if all(s.figures[name].value is None for s in direction.systems)
    ]
    if undefined:
        remarks.append(f"No system has a value for: {', '.join(undefined)}.")
    plots = [curves.plot(direction), ranks.plot(direction)]
    asks, ranked = (
        ("images", "captions") if direction.direction == ANNOTATION_TABLE else ("captions", "images")
    )
    return Section(
        f"{direction.direction.capitalize()}: {asks} are the queries, {ranked} are ranked",
        remarks,
        [table for table in section_tables if table is not None],
        [plot for plot in plots if plot is not None],
    )


def _few(direction: DirectionTable) -> list[str]:
    """Return a remark that the bootstrap, of intervals and emphasis, is based on few images."""
    images = [
        figure.images for system in direction.systems for figure in system.figures.values() if figure.interval
    ]
    if not images or min(images) >= FEW_CLUSTERS:
        return []
    sentence = (
        f"The bootstrap, for intervals and for underlining, draws only {min(images)} images for some results"
    )
    return [f"{sentence}. With fewer than {FEW_CLUSTERS} images, intervals may be too narrow."]


def _lead(direction: DirectionTable) -> list[str]:
    """Return the result of the table: the best system, and how many differ from the baseline."""
    sentences = []
    name = first_of((*BY_JUDGMENTS, *BY_ORIGINALS), direction.measures)
    best = [system for system in direction.systems if name and system.figures[name].weight == "best"]
    if best:
        figure = tables.figure_text(name, best[0].figures[name])
        near = sum(system.figures[name].weight == "near" for system in direction.systems)
        others = f"; {near} others are not significantly different" if near else ""
        sentences.append(
            f"By {name}, {' and '.join(system.label for system in best)} is best: {figure}{others}."
        )
    if direction.tests:
        runs = {test.run for test in direction.tests}
        apart = {test.run for test in direction.tests if test.adjusted is not None and test.adjusted <= 0.05}
        word = "system" if len(runs) == 1 else "systems"
        differ = f"{len(apart)} differ on at least one measure" if apart else "none differs on any measure"
        sentences.append(
            f"Of {len(runs)} {word} compared with {direction.baseline}, {differ} (adjusted p <= 0.05)."
        )
    return sentences


def _of_batch(batch: BatchNumbers) -> Section:
    numbers, filling = batch.numbers, batch.filling
    rows: list[tuple[str, Cell]] = [
        ("depth of the pool", batch.depth),
        ("pairs pooled", numbers["pooled"]),
        ("of them originals", numbers["originals"]),
        ("filtered out (BLEU_pre)", numbers["filtered"]),
        ("threshold of the filter", batch.threshold),
        ("judged before, and reused", numbers["known"]),
        ("of them judged less often now", batch.lacking),
        *([] if batch.askable is None else [("that could be asked, in rounds", batch.askable)]),
        ("asked", numbers["selected"]),
        ("judgments wanted for each", batch.answers_per_pair),
        ("asked, and judged as often", batch.judged),
        ("asked, and judged less often", batch.short),
        *([] if not filling["pages"] else _of_pages(filling)),
        ("answers handed in, to pages or graded pairs; of tests, and withdrawn ones, too", batch.answers),
        ("judges with answers that count", batch.judges),
        ("judges whose answers are left out", len(batch.unused)),
        ("judges whose answers were withdrawn", len(batch.withdrawn)),
        ("answers left out, from before their judges were reinstated", batch.before),
        ("price planned", numbers["price"]),
        ("earned", batch.earned),
    ]
    remarks = [
        f"{what}: {'; '.join(_counted(why))}."
        for what, why in (("Judges left out", batch.unused), ("Answers withdrawn", batch.withdrawn))
        if why
    ]
    if batch.lacking:
        remarks.append(
            f"Of {numbers['known']:,} pairs that were judged before, {batch.lacking:,} have fewer answers "
            "now than required; a new batch of the same runs collects them."
        )
    if batch.before:
        remarks.append(
            f"{batch.before:,} answers do not count, as their judges gave them before they were suspended "
            "and reinstated."
        )
    if batch.counted:
        remarks.append(
            f"{batch.counted:,} answers that judges gave before they were suspended and reinstated count, "
            "by request."
        )
    if filling["missing"]:
        remarks.append(
            f"Pages lack {filling['missing']:,} captions: there are too few filtered pairs of these "
            f"images. Of {filling['blocks']:,} image slots, {filling['short_blocks']:,} are incomplete "
            "or empty."
        )
    if batch.loss is not None:
        loss = batch.loss
        remarks.append(
            f"Loss of the filter: {loss['relevant']:,} of {loss['judged']:,} judged fillers are relevant "
            f"({loss['relevant'] / loss['judged']:.2%}; {level_text(loss['level'])} by Wilson, clustered by "
            f"{loss['images']:,} images: {loss['low']:.2%} to {loss['high']:.2%}), so of "
            f"{loss['filtered']:,} filtered pairs about {loss['expected']:,.0f} are lost "
            f"({loss['at_least']:,.0f} to {loss['at_most']:,.0f})."
        )
    elif batch.threshold is not None:
        remarks.append("No filler was judged, so the loss of the filter is unknown.")
    title = f"Batch {batch.batch}: {batch.tasks}, {batch.state}"
    basis = FigureBasis(
        cases="pairs", counted=numbers["pooled"], out_of=numbers["pooled"], pool=f"batch {batch.batch}"
    )
    return Section(
        title, remarks, [tables.metadata_table("batch", "The batch in numbers", rows, basis=basis)], []
    )


def _of_tags(report: ReportDocument) -> Section:
    swept = [
        sweeps.SweptFigure(
            set_["name"],
            measure["measure"],
            measure["distractors"],
            measure["value"],
            measure["low"],
            measure["high"],
        )
        for set_ in report.tags
        for measure in set_["measures"]
        if measure["distractors"] is not None
    ]
    return Section(
        "Tags",
        tag_remarks(report.tags),
        tag_tables(report.tags, level=report.inputs["settings"]["level"]),
        [
            sweeps.plot(
                "tags",
                "Precision of tags by distractors",
                "distractors",
                swept,
                basis=basis_of_tags(report.tags),
            )
        ],
    )


def _of_pages(filling: Mapping[str, int]) -> list[tuple[str, Cell]]:
    return [
        ("pages that ask them", filling["pages"]),
        ("filtered pairs that fill pages up", filling["fillers"]),
        ("captions that pages lack, as fillers ran out", filling["missing"]),
    ]


def _counted(reasons: Sequence[str]) -> list[str]:
    """Return each reason once, with its number of occurrences."""
    return [f"{why} ({number})" if number > 1 else why for why, number in Counter(reasons).items()]


def _of_judging(report: ReportDocument) -> Section:
    judging = report.judging
    if judging is None:
        return Section("Judgments", [report.no_judging], [], [])
    number = f"{judging.judges:,} judge{'s' * (judging.judges != 1)}"
    judges = f"by {number}" if judging.judges else "the judges are not named"
    if judging.judges and judging.nameless:
        judges = f"{judges}; answers to {judging.nameless:,} of the pairs have no named judge"
    first, estimate = next(iter(judging.coefficients.items()))
    summary = (
        f"Judgments {judging.judgments}: {judging.answers:,} answers about {judging.pairs:,} pairs of "
        f"{judging.images:,} images, {judges}. {first}: {tables.interval_text(estimate)}."
    )
    sweeps = [agreement.plot(sweep, number) for number, sweep in enumerate(judging.sweeps, start=1)]
    level = report.inputs["settings"]["level"]
    return Section(
        "Judgments",
        [summary],
        [tables.coefficients(judging, level=level)],
        [judgments.plot(judging), *sweeps],
    )
