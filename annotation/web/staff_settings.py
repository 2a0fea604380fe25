"""A campaign's settings: each with its value, its default and where that is from; and its stop rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from annotation import campaigns
from annotation.campaign_settings import CampaignError, CampaignSettings, settings_of
from annotation.models import Campaign
from annotation.roles import RESEARCHER
from annotation.web.access import BROWSING, account_of, for_roles_on, role_missing
from annotation.web.staff import CAMPAIGN, framed

#: The tables of settings, in the order of the page, and what each is about.
TITLES = {
    "protocol": gettext_lazy("What is asked, and when it is settled"),
    "limits": gettext_lazy("When a chain stops cycling"),
    "merging": gettext_lazy("When boxes are taken for one"),
    "trust": gettext_lazy("Whom to trust with what"),
    "lease": gettext_lazy("How long a task is held"),
    "pay": gettext_lazy("What an answer earns"),
    "stop": gettext_lazy("When it stops by itself"),
}


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as it stands; `default` is told where it is another. `source` is the default's."""

    name: str
    value: str
    default: str
    source: str


@dataclass(frozen=True, slots=True)
class SettingTable:
    """One table of settings, under the name that a TOML file gives it ("" is the top level)."""

    name: str
    title: str
    rows: list[SettingRow]


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles_on(CAMPAIGN, *BROWSING)
def settings_page(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """All settings of a campaign. A POST by a researcher sets the stop rules, which alone may change."""
    wrong, status = "", 200
    given: Mapping[str, str] = {}
    if request.method == "POST":
        if not account_of(request).has_role(RESEARCHER, on=campaign.scope):
            return role_missing(request, RESEARCHER)
        try:
            rules = stop_rules_in(request.POST)
            campaigns.set_stop_rules(campaign=campaign, rules=rules, actor=account_of(request))
            messages.success(request, _("The stop rules are set."))
            return redirect("campaign_settings", campaign.name)
        except CampaignError as error:
            wrong, given, status = str(error), request.POST, 409
    settings = settings_of(campaign.settings)
    return render(
        request,
        "annotation/staff/settings.html",
        framed(
            request,
            campaign,
            "settings",
            tables=tables_of(settings),
            stop=settings.stop,
            currency=settings.pay.currency,
            wrong=wrong,
            given=given,
        ),
        status=status,
    )


def tables_of(settings: CampaignSettings) -> list[SettingTable]:
    """Every setting, table by table."""
    protocol = settings.protocol
    records: dict[str, Any] = {
        "protocol": protocol,
        "limits": protocol.limits,
        "merging": protocol.merging,
        "trust": settings.trust,
        "lease": settings.lease,
        "pay": settings.pay,
        "stop": settings.stop,
    }
    return [
        SettingTable(
            "" if name == "protocol" else name,
            str(TITLES[name]),
            [_row(each, record) for each in fields(record) if not is_dataclass(getattr(record, each.name))],
        )
        for name, record in records.items()
    ]


def stop_rules_in(data: Mapping[str, str]) -> dict[str, Any]:
    """The stop rules that a form gives; an empty field takes a rule away. Raises CampaignError."""
    return {
        "budget": _number(data, "budget", float),
        "until": data.get("until", "").strip() or None,
        "images": _number(data, "images", int),
    }


def _number(data: Mapping[str, str], name: str, kind: type[int] | type[float]) -> int | float | None:
    text = data.get(name, "").strip()
    if not text:
        return None
    try:
        return kind(text)
    except ValueError:
        raise CampaignError(
            _("%(name)s is “%(given)s”: give a number, or leave it empty.")
            % {"name": name, "given": text[:60]}
        ) from None


def _row(each: Field[Any], record: Any) -> SettingRow:
    value = getattr(record, each.name)
    default = each.default_factory() if each.default_factory is not MISSING else each.default
    changed = value != default
    return SettingRow(
        each.name, _told(value), _told(default) if changed else "", each.metadata.get("source", "")
    )


def _told(value: Any) -> str:
    """A value as people read it."""
    if value is None:
        return _("never")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {each:g}" for name, each in value.items()) or _("none")
    if isinstance(value, list | tuple):
        return ", ".join(" + ".join(each) if isinstance(each, list | tuple) else str(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
