"""`manage.py dataset_stats CORPUS`: the figures of a layer beside those in print, and its cost."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.common.plain_text import plain_table
from annotation.common.registry import UnknownName
from annotation.datasets.layers import campaign_of_layer, layer_to_read
from annotation.management.base import ReportCommand, with_progress
from annotation.models import Campaign
from annotation.protocol.statistics import PRINTED_STATISTICS, TOTAL, cost_figures
from annotation.selectors.campaign import funnel
from annotation.selectors.corpora import AmbiguousLayer, check_split, corpus_named
from annotation.selectors.layer_cost import cost_of
from annotation.selectors.statistics import layer_statistics

WIDTH = 9


class Command(ReportCommand):
    help = (
        "Print the figures of a layer beside those of Plummer et al. 2015 (Table 1, section 2.4), and what "
        "the layer cost. docs/statistics.md says what is counted."
    )
    refusals = (UnknownName, AmbiguousLayer)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus", help="The name of the corpus")
        parser.add_argument("--layer", help="The layer; needed where several exist")
        parser.add_argument("--split", help="Only the images of this split (figures, not cost)")

    def report(self, **options: Any) -> dict[str, Any]:
        corpus = corpus_named(options["corpus"])
        layer = layer_to_read(corpus, options["layer"])
        if layer is None:
            raise CommandError(
                f"corpus {corpus.name!r} has no layer: nothing is marked in its captions; import one that "
                "brings mentions, or annotate it"
            )
        if options["split"] is not None:
            check_split(corpus, options["split"])
        statistics = layer_statistics(
            corpus=corpus,
            layer=layer,
            split=options["split"],
            progress=partial(
                with_progress, what="images", total=None if options["split"] else corpus.image_count
            ),
        )
        made_by = campaign_of_layer(layer)
        return {
            "corpus": corpus.name,
            "layer": layer.name,
            "split": options["split"],
            **statistics.figures(),
            "printed": PRINTED_STATISTICS,
            # What a layer cost is known as a whole only.
            "cost": cost_figures(cost_of(layer, made_by)) if options["split"] is None else {},
            "campaign": None if made_by is None else _far(made_by),
        }

    def show(self, report: dict[str, Any]) -> str:
        where = "" if report["split"] is None else f", split {report['split']!r}"
        parts = [
            f"corpus {report['corpus']!r}, layer {report['layer']!r}{where}",
            _by_image(report),
            _by_category(report),
            _shares(report),
        ]
        if report["campaign"]:
            parts.insert(
                1,
                "of its campaign's {images} images {begun} are begun and {complete} complete".format_map(
                    report["campaign"]
                ),
            )
        if report["cost"]:
            parts.append(_cost(report["cost"]))
        return "\n\n".join(parts)


def _far(campaign: Campaign) -> dict[str, int]:
    """How far the campaign of a layer is: its images, those begun, those complete."""
    now = funnel(campaign, fresh=True)
    return {"images": now.in_all, "begun": now.begun, "complete": now.complete}


def _cell(value: Any, form: str) -> str:
    """A number to the right of its cell, "-" where there is none."""
    return ("-" if value is None else format(value, form)).rjust(WIDTH)


def _head(*names: str) -> list[str]:
    """Column heads: the first to the left, those over numbers to the right."""
    return [names[0], *(name.rjust(WIDTH) for name in names[1:])]


def _by_image(report: dict[str, Any]) -> str:
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
        [name.replace("_", " "), _cell(report[name], form), _cell(report["printed"].get(name), form)]
        for name, form in forms.items()
    ]
    return plain_table(_head("", "here", "in print"), rows)


def _groups(report: dict[str, Any]) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """(category, figures, printed figures), the total last."""
    printed = report["printed"]
    groups = [(c, figures, printed["categories"].get(c, {})) for c, figures in report["categories"].items()]
    return [*groups, (TOTAL, report[TOTAL], printed[TOTAL])]


def _by_category(report: dict[str, Any]) -> str:
    forms = {"chains": "d", "mentions_per_chain": ".2f", "boxes_per_chain": ".2f", "images": ".1%"}
    head = ["", "chains", "in print", "mentions", "in print", "boxes", "in print", "images", "in print"]
    rows = [
        [name, *(_cell(held.get(key), form) for key, form in forms.items() for held in (here, printed))]
        for name, here, printed in _groups(report)
    ]
    return (
        plain_table(_head(*head), rows)
        + "\nmentions and boxes: per chain; images: share that mentions the category; "
        "in print: Plummer et al. 2015, Table 1 and section 2.4"
    )


def _shares(report: dict[str, Any]) -> str:
    keys = ("one_box", "several_boxes", "no_box", "several_mentions")
    groups = _groups(report)
    rows = [[name, *(_cell(here[key], ".1%") for key in keys)] for name, here, _ in groups]
    rows.append(["in print", *(_cell(groups[-1][2][key], ".1%") for key in keys)])
    head = _head("share of chains with", "one box", "several", "none", "several mentions")
    return plain_table(head, rows)


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
    return plain_table(head, rows)
