"""Operations on the figures of layers and captions: tables as published, beside the published ones."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import (
    CommandLine,
    FormPage,
    Has,
    Rest,
    register,
    table_layouts,
    tables_text,
)
from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.datasets.contents import error_samples, figures
from annotation.datasets.contents.error_samples import VERDICTS, ErrorRates, ErrorSampleSummary
from annotation.datasets.contents.figures import CaptionStats, DatasetFigures
from annotation.figures.category_bars import category_bars
from annotation.protocol.statistics import TOTAL
from phrasebox.figure_basis import FigureBasis
from phrasebox.figure_tables import Cell, Table

_CATEGORY = _("category")
#: Titles of the figures of a category: key -> (title, whether it is a share, shown in per cent).
_OF_CATEGORY = {
    "chains": (_("chains"), False),
    "mentions": (_("mentions"), False),
    "boxes": (_("boxes"), False),
    "mentions_per_chain": (_("mentions per chain"), False),
    "boxes_per_chain": (_("boxes per chain"), False),
    "words_per_mention": (_("words per mention"), False),
    "images": (_("images, %"), True),
    "one_box": (_("with one box, %"), True),
    "several_boxes": (_("with several boxes, %"), True),
    "no_box": (_("without a box, %"), True),
    "several_mentions": (_("with several mentions, %"), True),
}
_BY_IMAGE = {
    "images": _("images"),
    "captions": _("captions"),
    "mentions_per_image": _("mentions per image"),
    "mentions_per_caption": _("mentions per caption"),
    "chains_per_image": _("chains per image"),
    "boxes_per_image": _("boxes per image"),
    "not_visual_mentions": _("mentions that are not visual"),
    "chains_without_mentions": _("chains without mentions"),
}
_OF_CAPTIONS = {
    "tokens": (_("tokens per caption"), False),
    "shortest": (_("tokens of the shortest"), False),
    "longest": (_("tokens of the longest"), False),
    "vocabulary": (_("different words"), False),
    "without_verb": (_("without a verb, %"), True),
    "static_verbs": (_("only sit, stand, wear or look, %"), True),
    "overlap": (_("words shared by captions of an image, %"), True),
}
_COST = {
    "judgments": (_("judgments"), False),
    "per_image": (_("per image"), False),
    "per_mention": (_("per mention"), False),
    "control_overhead": (_("more for control items, %"), True),
    "double_check_overhead": (_("more for double checks, %"), True),
    "paid_minutes": (_("paid minutes"), False),
}

_OF_ERRORS = (_("mentions"), _("images"), _("errors"), _("rate, %"), _("from, %"), _("to, %"))
_PART_TITLES = {"chunk": _("phrase"), "chain": _("chain"), "boxes": _("boxes")}


def layer_tables(result: DatasetFigures) -> dict[str, Table]:
    """Return the tables of a layer: by category as in Plummer et al. 2015 (Table 1, section 2.4), that in
    print, by image, and the cost."""
    basis = _basis(result.layer, result)
    printed = FigureBasis(notes=("Flickr30k Entities: Plummer et al. 2015, Table 1 and section 2.4.",))
    groups = {**result.categories, TOTAL: result.total}
    in_print = {**result.printed["categories"], TOTAL: result.printed[TOTAL]}
    tables = {
        str(_("By category")): _by_row(groups, _OF_CATEGORY, basis),
        str(_("In print")): _by_row(in_print, _OF_CATEGORY, printed),
        str(_("By image")): Table(
            [str(_("figure")), result.corpus, str(_("in print"))],
            [[str(title), *_pair(key, result)] for key, title in _BY_IMAGE.items()],
            places=dict.fromkeys((result.corpus, str(_("in print"))), 2),
            basis=basis,
        ),
    }
    if result.cost:
        costs = {**result.cost["questions"], TOTAL: result.cost[TOTAL]}
        tables[str(_("Cost"))] = _by_row(costs, _COST, basis, name=_("question"))
    return tables


def category_figure(result: DatasetFigures) -> str:
    """Return chains, mentions and boxes by category as bars, in SVG."""
    keys = ("chains", "mentions", "boxes")
    counts = {str(_OF_CATEGORY[key][0]): [of[key] for of in result.categories.values()] for key in keys}
    title = str(_("Chains, mentions and boxes by category"))
    return category_bars(list(result.categories), counts, title=title, key="by-category")


def caption_tables(result: CaptionStats) -> dict[str, Table]:
    """Return the table of the captions of a corpus, beside that of Hodosh et al. 2013, section 2.3."""
    head = [str(_("figure")), result.corpus, str(_("Flickr8k in print"))]
    values = asdict(result)
    rows: list[list[Cell]] = [
        [str(title), *(_share(of.get(key), share) for of in (values, result.printed))]
        for key, (title, share) in _OF_CAPTIONS.items()
    ]
    return {"": Table(head, rows, places=dict.fromkeys(head, 1), basis=_basis("", result))}


def error_tables(result: ErrorRates) -> dict[str, Table]:
    """Return the table of the rates of errors of a sample, in per cent, and of the kinds of errors."""
    drawn = (
        f"{result.judged:,} of the {result.mentions:,} mentions that were drawn from corpus {result.corpus}, "
        f"layer {result.layer}, with the seed {result.seed} on {result.drawn_at:%Y-%m-%d}."
    )
    intervals = (
        "Rates are per mention. Intervals at 95 %: Wilson, over the effective number of mentions, as those "
        "of one image are not independent."
    )
    notes = [drawn, intervals]
    if result.changed:
        notes.append("The layer has changed since the sample was drawn.")
    head = [str(title) for title in (_("part"), *_OF_ERRORS)]
    rates: list[list[Cell]] = [
        [
            str(_PART_TITLES[part]),
            *(rate.items, rate.images, rate.errors),
            *(None if value is None else 100 * value for value in (rate.rate, rate.low, rate.high)),
        ]
        for part, rate in result.rates.items()
    ]
    kinds: list[list[Cell]] = [
        [str(_PART_TITLES[part]), str(VERDICTS[part][kind]), number]
        for part, rate in result.rates.items()
        for kind, number in rate.kinds.items()
    ]
    basis = FigureBasis(notes=tuple(notes))
    return {
        str(_("Rates of errors")): Table(head, rates, places=dict.fromkeys(head, 1), basis=basis),
        str(_("Kinds of errors")): Table(
            [str(_("part")), str(_("kind")), str(_("mentions"))], kinds, basis=basis
        ),
    }


def _basis(layer: str, result: DatasetFigures | CaptionStats) -> FigureBasis:
    of = f"corpus {result.corpus}" + (f", layer {layer}" if layer else "")
    of += "" if result.split is None else f", split {result.split!r}"
    notes = [f"Images of {of}: {result.images:,}, with {result.captions:,} captions."]
    reach = getattr(result, "campaign", None)
    if reach is not None:
        notes.append(
            f"Of its campaign's {reach.images:,} images {reach.begun:,} are begun and "
            f"{reach.complete:,} complete."
        )
    return FigureBasis(notes=tuple(notes))


def _by_row(
    rows: Mapping[str, Mapping[str, Any]],
    columns: Mapping[str, tuple[Any, bool]],
    basis: FigureBasis,
    *,
    name: Any = _CATEGORY,
) -> Table:
    """Return a row for each category, or kind of question."""
    titles = [str(title) for title, _share_of in columns.values()]
    cells: list[list[Cell]] = [
        [row, *(_share(of.get(key), share) for key, (_title, share) in columns.items())]
        for row, of in rows.items()
    ]
    shares = {str(title): 1 for title, share in columns.values() if share}
    places = {**dict.fromkeys(titles, 2), **shares}
    return Table([str(name), *titles], cells, places=places, basis=basis)


def _share(value: Any, share: bool) -> Cell:
    return 100 * value if share and value is not None else value


def _pair(key: str, result: DatasetFigures) -> tuple[Cell, Cell]:
    return getattr(result, key), result.printed.get(key)


_READS = Has((REVIEWER, RESEARCHER), on="corpus")

register(
    name="dataset_stats",
    title=_("Count the figures of a layer"),
    permission=_READS,
    run=figures.dataset_figures,
    as_job=True,
    rest=Rest("POST", "corpora/<slug:corpus>/layer-figures", "corpora", example={}),
    command=CommandLine(
        text=tables_text(layer_tables), layouts={**table_layouts(layer_tables), "svg": category_figure}
    ),
    page=FormPage(started=_("The figures are being counted."), tables=layer_tables, figure=category_figure),
)
register(
    name="caption_stats",
    title=_("Count the figures of a corpus's captions"),
    permission=_READS,
    run=figures.caption_stats,
    as_job=True,
    rest=Rest("POST", "corpora/<slug:corpus>/caption-figures", "corpora", example={}),
    command=CommandLine(text=tables_text(caption_tables), layouts=table_layouts(caption_tables)),
    page=FormPage(started=_("The figures are being counted."), tables=caption_tables),
)

_SAMPLES = "corpora/<slug:corpus>/error-samples"
_SAMPLE = f"{_SAMPLES}/<int:sample>"

register(
    title=_("Draw a sample to look for errors"),
    permission=_READS,
    run=error_samples.draw_error_sample,
    rest=Rest(
        "POST",
        _SAMPLES,
        "corpora",
        route="error_samples",
        creates="corpora/{corpus}/error-samples",
        example={},
    ),
    command=CommandLine(positional=("corpus", "layer")),
    page=FormPage(done=_("%(mentions)d mentions are drawn.")),
)
register(
    title=_("List samples that were drawn to look for errors"),
    result=ErrorSampleSummary,
    permission=_READS,
    run=error_samples.list_error_samples,
    rest=Rest("GET", _SAMPLES, "corpora", route="error_samples"),
)
register(
    title=_("Judge a mention of a sample"),
    permission=_READS,
    run=error_samples.judge_sampled_mention,
    rest=Rest(
        "POST", f"{_SAMPLE}/mentions/<int:mention>", "corpora", example={"chunk": "right", "chain": "split"}
    ),
    page=FormPage(done=lambda nothing: ""),
)
register(
    name="error_rates",
    title=_("Count the errors of a sample"),
    permission=_READS,
    run=error_samples.error_rates,
    rest=Rest("GET", f"{_SAMPLE}/rates", "corpora"),
    command=CommandLine(text=tables_text(error_tables), layouts=table_layouts(error_tables)),
    page=FormPage(tables=error_tables),
)
