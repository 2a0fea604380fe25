"""What commands print of corpora: what was imported, the figures of a layer beside those in print."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from annotation.common.plain_text import text_table
from annotation.datasets.contents.figures import DatasetFigures
from annotation.datasets.intake import ImportReport
from annotation.datasets.source_problems import NO_CAPTION, NO_PICTURE, SourceProblem
from annotation.protocol.statistics import TOTAL

_WIDTH = 9


def dataset_text(result: DatasetFigures) -> str:
    """The tables of a layer."""
    where = "" if result.split is None else f", split {result.split!r}"
    parts = [f"corpus {result.corpus!r}, layer {result.layer!r}{where}"]
    if (far := result.campaign) is not None:
        parts.append(
            f"of its campaign's {far.images} images {far.begun} are begun and {far.complete} complete"
        )
    parts += [_by_image(result), _by_category(result), _shares(result)]
    return "\n\n".join([*parts, _cost(result.cost)] if result.cost else parts)


def _cell(value: Any, form: str) -> str:
    """A number to the right of its cell, "-" where there is none."""
    return ("-" if value is None else format(value, form)).rjust(_WIDTH)


def _head(*names: str) -> list[str]:
    """Column heads: the first to the left, those over numbers to the right."""
    return [names[0], *(name.rjust(_WIDTH) for name in names[1:])]


def _by_image(result: DatasetFigures) -> str:
    forms = {
        "images": "d",
        "captions": "d",
        "mentions_per_image": ".2f",
        "mentions_per_caption": ".2f",
        "chains_per_image": ".2f",
        "boxes_per_image": ".2f",
        "not_visual_mentions": "d",
        "chains_without_mentions": "d",
    }
    rows = [
        [name.replace("_", " "), _cell(getattr(result, name), form), _cell(result.printed.get(name), form)]
        for name, form in forms.items()
    ]
    return text_table(_head("", "here", "in print"), rows)


def _groups(result: DatasetFigures) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """(category, figures, printed figures), the total last."""
    printed = result.printed
    groups = [(c, figures, printed["categories"].get(c, {})) for c, figures in result.categories.items()]
    return [*groups, (TOTAL, result.total, printed[TOTAL])]


def _by_category(result: DatasetFigures) -> str:
    forms = {"chains": "d", "mentions_per_chain": ".2f", "boxes_per_chain": ".2f", "images": ".1%"}
    head = ["", "chains", "in print", "mentions", "in print", "boxes", "in print", "images", "in print"]
    rows = [
        [name, *(_cell(held.get(key), form) for key, form in forms.items() for held in (here, printed))]
        for name, here, printed in _groups(result)
    ]
    return (
        text_table(_head(*head), rows)
        + "\nmentions and boxes: per chain; images: share that mentions the category; "
        "in print: Plummer et al. 2015, Table 1 and section 2.4"
    )


def _shares(result: DatasetFigures) -> str:
    keys = ("one_box", "several_boxes", "no_box", "several_mentions")
    groups = _groups(result)
    rows = [[name, *(_cell(here[key], ".1%") for key in keys)] for name, here, _ in groups]
    rows.append(["in print", *(_cell(groups[-1][2][key], ".1%") for key in keys)])
    head = _head("share of chains with", "one box", "several", "none", "several mentions")
    return text_table(head, rows)


def _cost(cost: dict[str, Any]) -> str:
    forms = {
        "judgments": ",.0f",
        "per_image": ".2f",
        "per_mention": ".3f",
        "control_overhead": ".1%",
        "double_check_overhead": ".1%",
        "paid_minutes": ",.1f",
    }
    rows = [
        [name, *(_cell(figures[key], form) for key, form in forms.items())]
        for name, figures in [*cost["questions"].items(), (TOTAL, cost[TOTAL])]
    ]
    head = _head("cost", "judgments", "per image", "per mention", "controls", "double checks", "paid minutes")
    return text_table(head, rows)


def imported_corpus_text(result: ImportReport) -> str:
    """What an import found, and what became of it."""
    listed = result.skipped or result.dry_run
    lines = [*map(str, result.problems if listed else ())]
    if result.problems:
        lines.append(_problems_in_words(result.problems, skipped=result.skipped, dry_run=result.dry_run))
    lines.append(f"{result.images} images, {result.captions} captions, {result.pictures} pictures")
    if result.layer:
        lines.append(
            f"layer {result.layer!r}: {result.mentions} mentions in {result.chains} chains, "
            f"{result.boxes} boxes, {result.not_visual} mentions that are not visual"
        )
    if result.layer and result.covered < result.images:
        lines.append(f"the layer covers {result.covered} of the {result.images} images")
    if result.dry_run:
        lines.append("nothing was stored")
    elif result.unchanged:
        lines.append(f"corpus {result.corpus!r} already exists, nothing changed")
    else:
        lines.append(f"corpus {result.corpus!r} imported")
    return "\n".join([*lines, f"{result.seconds:.1f} s"])


def _problems_in_words(problems: Sequence[SourceProblem], *, skipped: bool, dry_run: bool) -> str:
    """How many problems there are, and what became of them."""
    blocking = sum(problem.blocks for problem in problems)
    if dry_run:
        rest = f"of which {blocking} end an import that skips none"
        return f"{len(problems)} problem{'s' * (len(problems) != 1)}, {rest}"
    if skipped:
        return f"left out {len(problems)} problem{'s' * (len(problems) != 1)}: those listed, nothing else"
    counts = Counter(problem.sort for problem in problems)
    return "; ".join(
        [
            *([f"{counts[NO_PICTURE]} images have no picture"] if counts[NO_PICTURE] else []),
            *([f"{counts[NO_CAPTION]} pictures or images have no caption"] if counts[NO_CAPTION] else []),
            "a dry run lists them, and they can be skipped",
        ]
    )
