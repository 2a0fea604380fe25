"""A campaign's four charts, each with a sentence that explains it, and its data as a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.figures.campaign_charts import (
    ChartWords,
    ShareBar,
    TotalLine,
    bars_by_hour,
    running_total,
    shares_side_by_side,
)
from annotation.protocol.work import MICROS
from annotation.selectors.campaign.cost import cents
from annotation.selectors.campaign.series import CampaignSeries, SeriesPoint
from annotation.web.staff.campaign_tables import agreement_rows

#: From this step on, the day is precise enough for a time.
_DAYS = timedelta(hours=20)


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: its key, its title, its drawing as SVG ("" if there is nothing to draw yet), its explanation
    in a sentence, and its data: heads and rows of texts."""

    key: str
    title: str
    svg: str
    says: str
    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def campaign_charts(series: CampaignSeries, *, paid: bool, timed: bool) -> list[Chart]:
    """Return the charts of a campaign; that of cost only if it is `paid`, that of speed only if `timed`."""
    charts = [_answers(series)] if timed else []
    charts.append(_images(series, timed=timed))
    if paid:
        charts.append(_cost(series, timed=timed))
    charts.append(_agreement(series))
    return charts


def _answers(series: CampaignSeries) -> Chart:
    title, heads = _("Answers an hour"), (_("Hour"), _("Answers"))
    if not series.answers:
        return Chart("answers", title, "", _("No answers yet."), heads, [])
    most, at = max((number, hour) for hour, number in series.answers)
    says = ngettext(
        "%(n)s answer in the last hour shown; the most were %(most)s (%(at)s).",
        "%(n)s answers in the last hour shown; the most were %(most)s (%(at)s).",
        series.answers[-1][1],
    ) % {"n": _whole(series.answers[-1][1]), "most": _whole(most), "at": _moment(at)}
    words = ChartWords(title, _("answers"), _whole, _axis_time([hour for hour, _n in series.answers]))
    rows = [(_moment(hour), _whole(number)) for hour, number in series.answers]
    return Chart("answers", title, bars_by_hour(series.answers, words, key="answers"), says, heads, rows)


def _images(series: CampaignSeries, *, timed: bool) -> Chart:
    title, heads = _("Images done"), (_("Until"), _("Images done"))
    if not series.done:
        return Chart("images", title, "", _("No image is done yet."), heads, [])
    done, end = series.done[-1][1], series.images_end if timed else None
    says = ngettext(
        "%(done)s of %(images)s image is done.", "%(done)s of %(images)s images are done.", series.images
    ) % {"done": _whole(done), "images": _whole(series.images)}
    if end is not None:
        says += " " + _("At the pace of the last day all are done by %(day)s.") % {"day": _day(end[0])}
    elif timed and done < series.images:
        forecast = _("There is no forecast yet: it takes some finished images and answers of the last day.")
        says = f"{says} {forecast}"
    line = TotalLine(
        series.done,
        _("done"),
        expected=end,
        expected_name=_("forecast"),
        limit=series.images,
        limit_name=_("all images"),
    )
    words = ChartWords(title, _("images"), _whole, _axis_time(_times(series.done, end)))
    rows = [(_moment(at), _whole(number)) for at, number in series.done[1:]]
    if end is not None:
        rows.append((_("forecast: %(at)s") % {"at": _moment(end[0])}, _whole(end[1])))
    return Chart("images", title, running_total(line, words, key="images"), says, heads, rows)


def _cost(series: CampaignSeries, *, timed: bool) -> Chart:
    title, currency = _("Cost against budget"), series.currency
    heads = (_("Until"), _("Earned, bonuses included") if series.bonuses else _("Earned"))
    if not series.cost:
        return Chart("cost", title, "", _("Nothing has been earned yet."), heads, [])
    cost, end = series.cost[-1][1], series.cost_end if timed else None
    if series.budget is None:
        says = _("%(cost)s earned so far; no budget is set.") % {"cost": cents(cost, currency)}
    else:
        share = round(100 * cost / series.budget) if series.budget else 100
        says = _("%(cost)s earned so far: %(share)d %% of the budget of %(budget)s.") % {
            "cost": cents(cost, currency),
            "share": share,
            "budget": cents(series.budget, currency),
        }
    if series.bonuses:
        says += " " + _("Bonuses of %(amount)s are included.") % {"amount": cents(series.bonuses, currency)}
    if end is not None:
        says += " " + _("About %(cost)s expected in all.") % {"cost": cents(end[1], currency)}
    line = TotalLine(
        _in_units(series.cost),
        _("earned"),
        expected=(end[0], end[1] / MICROS) if end is not None else None,
        expected_name=_("forecast"),
        limit=series.budget / MICROS if series.budget is not None else None,
        limit_name=_("budget"),
    )
    words = ChartWords(title, currency, _amount, _axis_time(_times(series.cost, end)))
    rows = [(_moment(at), cents(amount, currency)) for at, amount in series.cost[1:]]
    if end is not None:
        rows.append((_("forecast: %(at)s") % {"at": _moment(end[0])}, cents(end[1], currency)))
    return Chart("cost", title, running_total(line, words, key="cost"), says, heads, rows)


def _agreement(series: CampaignSeries) -> Chart:
    title = _("Agreement by question")
    heads = (_("Question"), _("Two answers"), _("Agreement"), _("Kappa"), _("Share of each answer"))
    rows = agreement_rows(series.agreement)
    shares = [
        ShareBar(row.name, row.of.equal.value, f"{round(100 * row.of.equal.value)} %")
        for row in rows
        if row.of.equal is not None
    ]
    if not shares:
        return Chart("agreement", title, "", _("No question has two answers yet."), heads, [])
    least = min(shares, key=lambda share: share.share)
    says = _("Workers agree least on “%(kind)s”: %(share)s of the questions drawn for a second answer.") % {
        "kind": least.name,
        "share": least.beside,
    }
    words = ChartWords(title, _("per cent equal"), _whole, _moment)
    lines = [(row.name, _whole(row.of.pairs), row.equal, row.kappa, row.answers) for row in rows]
    return Chart("agreement", title, shares_side_by_side(shares, words, key="agreement"), says, heads, lines)


def _in_units(points: Sequence[SeriesPoint]) -> list[tuple[datetime, float]]:
    return [(at, amount / MICROS) for at, amount in points]


def _times(points: Sequence[SeriesPoint], end: SeriesPoint | None) -> list[datetime]:
    return [at for at, _value in points] + ([end[0]] if end is not None else [])


def _axis_time(times: Sequence[datetime]) -> Callable[[datetime], str]:
    """Return the format of times below an axis: by the hour within a day, else by the day."""
    span = max(times) - min(times)
    if span <= _DAYS:
        return lambda at: date_format(timezone.localtime(at), "TIME_FORMAT")
    return lambda at: date_format(timezone.localtime(at), "MONTH_DAY_FORMAT")


def _moment(at: datetime) -> str:
    return f"{date_format(timezone.localtime(at), 'SHORT_DATETIME_FORMAT')}\N{NO-BREAK SPACE}UTC"


def _day(at: datetime) -> str:
    return date_format(timezone.localtime(at), "DATE_FORMAT")


def _whole(number: float) -> str:
    return number_format(round(number), use_l10n=True, force_grouping=True)


def _amount(number: float) -> str:
    """Return an amount beside an axis, as short as possible without loss."""
    return number_format(f"{number:.2f}".rstrip("0").rstrip("."), force_grouping=True)
