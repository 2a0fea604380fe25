"""What all pages of evaluation share: the tabs, parameters of addresses, and choices of forms."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.web.common.request_forms import RequestForm


class Tab(NamedTuple):
    """A kind of page: its key, its title, and the route of its first page."""

    key: str
    title: Any
    route: str


#: In their order on the page. A kind of page is linked once it has an entry here.
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
    """Return the context of every page of evaluation: the tabs, and the active one."""
    return {"tab": tab, "tabs": TABS, **more}


def set_choices(
    form: RequestForm, name: str, values: Iterable[str] | Mapping[str, Any], *, none: Any = None
) -> None:
    """Turn a form field into a choice of texts, or of values with titles; `none` is the title of the empty
    choice, if that is allowed. The titles are sufficient: the field's help about names is removed."""
    titles = values if isinstance(values, Mapping) else {value: value for value in values}
    empty = [] if none is None else [("", none)]
    form.fields[name].widget = forms.Select(choices=[*empty, *titles.items()])
    if isinstance(values, Mapping):
        form.fields[name].help_text = ""


def suggest_splits(form: RequestForm, *names: str) -> None:
    """Suggest the splits of a corpus, which the page lists as `splits`, for fields that select images."""
    for name in names:
        form.fields[name].widget.attrs |= {"list": "splits", "placeholder": _("all images")}


class Newest(NamedTuple):
    """A page of rows, the newest first; `first` and `later` are the addresses of the other pages, "" for
    none."""

    rows: list[Any]
    first: str
    later: str


def newest_page(all_rows: QuerySet[Any], query: QueryDict, *, number: int) -> Newest:
    """Return the requested page of `number` rows: those before the row that the address names."""
    all_rows, before = all_rows.order_by("-pk"), text_parameter(query, "before")
    if before.isascii() and before.isdigit() and len(before) < 19:
        all_rows = all_rows.filter(pk__lt=int(before))
    rows = list(all_rows[: number + 1])
    later = f"?before={rows[number - 1].pk}" if len(rows) > number else ""
    return Newest(rows[:number], "?" if before else "", later)


def text_parameters(query: QueryDict, name: str) -> list[str]:
    """Return each value of the parameter `name` once, in order."""
    return list(dict.fromkeys(text.replace("\0", "").strip() for text in query.getlist(name)))


def text_parameter(query: Mapping[str, str], name: str) -> str:
    """Return the value of the parameter `name`, without null characters, which no database stores."""
    return query.get(name, "").replace("\0", "").strip()
