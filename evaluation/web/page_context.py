"""What all pages of evaluation share: the tabs, what an address asks for, files to keep."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.web.common.request_forms import RequestForm


class Tab(NamedTuple):
    """A kind of page: its key, its title, and the name of its first page's route."""

    key: str
    title: Any
    route: str


#: In the order in which they stand. A kind of page is linked once it has its line here.
TABS = (
    Tab("systems", _("Systems"), "evaluation:systems"),
    Tab("features", _("Features"), "evaluation:features"),
    Tab("runs", _("Runs"), "evaluation:runs"),
    Tab("qrels", _("Qrels"), "evaluation:qrels_list"),
    Tab("compare", _("Compare"), "evaluation:compare"),
    Tab("batches", _("Batches"), "evaluation:batches"),
    Tab("reports", _("Reports"), "evaluation:reports"),
)


def page_context(tab: str, **more: Any) -> dict[str, Any]:
    """What every page of evaluation needs: the tabs, and which of them this page belongs to."""
    return {"tab": tab, "tabs": TABS, **more}


def set_choices(
    form: RequestForm, name: str, values: Iterable[str] | Mapping[str, Any], *, none: Any = None
) -> None:
    """Let a field of a form be chosen among texts, or by their titles, with `none` for nothing where that is
    a choice. Titles say all: what the field's help says of names is left out."""
    titles = values if isinstance(values, Mapping) else {value: value for value in values}
    empty = [] if none is None else [("", none)]
    form.fields[name].widget = forms.Select(choices=[*empty, *titles.items()])
    if isinstance(values, Mapping):
        form.fields[name].help_text = ""


def suggest_splits(form: RequestForm, *names: str) -> None:
    """Propose the splits of a corpus, which the page lists as `splits`, for fields that say which images."""
    for name in names:
        form.fields[name].widget.attrs |= {"list": "splits", "placeholder": _("all images")}


class Newest(NamedTuple):
    """A page of rows, the newest first; `first` and `later` are the addresses of the others, "" for none."""

    rows: list[Any]
    first: str
    later: str


def newest_page(all_rows: QuerySet[Any], query: QueryDict, *, number: int) -> Newest:
    """The page of `number` rows that an address asks for: those before the row that it names."""
    all_rows, before = all_rows.order_by("-pk"), text_parameter(query, "before")
    if before.isascii() and before.isdigit() and len(before) < 19:
        all_rows = all_rows.filter(pk__lt=int(before))
    rows = list(all_rows[: number + 1])
    later = f"?before={rows[number - 1].pk}" if len(rows) > number else ""
    return Newest(rows[:number], "?" if before else "", later)


def text_parameters(query: QueryDict, name: str) -> list[str]:
    """Each thing that an address or a form says of `name`, once, in its order."""
    return list(dict.fromkeys(text.replace("\0", "").strip() for text in query.getlist(name)))


def text_parameter(query: Mapping[str, str], name: str) -> str:
    """What an address or a form says of `name`; null characters, which no database stores, are dropped."""
    return query.get(name, "").replace("\0", "").strip()
