"""A campaign's settings: value, default and where that is from; their versions, and how they change."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, asdict, dataclass, fields, is_dataclass
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from annotation import campaigns, jobs
from annotation.common.operations import operation_named
from annotation.common.roles import RESEARCHER
from annotation.models import Campaign, OpenImage, SettingsVersion
from annotation.protocol.campaign_settings import CampaignError, CampaignSettings, as_toml, settings_of
from annotation.protocol.counted import AnswerSettings
from annotation.protocol.kinds import is_page, kind_of, kinds_of_tasks, machine_kinds
from annotation.selectors.settings_versions import images_by_version, settings_versions
from annotation.web.common.access import BROWSING, account_of, for_roles_on
from annotation.web.common.filters import query_number
from annotation.web.common.request_forms import RequestForm
from annotation.web.staff.frame import CAMPAIGN_OF_ADDRESS, campaign_frame
from annotation.web.staff.wording import kind_in_words
from models_core.checked_fields import field_rules

#: The tables of settings, in the order of the page, and what each is about.
TITLES = {
    "protocol": gettext_lazy("Questions, and when they are settled"),
    "limits": gettext_lazy("Limits of a chain"),
    "merging": gettext_lazy("When boxes are merged"),
    "saving": gettext_lazy("Fewer questions than the paper asks"),
    "answers": gettext_lazy("Workers per question"),
    "page": gettext_lazy("Contents of a page"),
    "trust": gettext_lazy("Trust in workers"),
    "lease": gettext_lazy("How long a task stays assigned"),
    "pay": gettext_lazy("Pay"),
    "stop": gettext_lazy("Stop rules"),
    "machine": gettext_lazy("Boxes that a machine proposes"),
}
#: Characters of a setting that the page shows; the form to change it has all.
LONGEST_VALUE = 80
#: Images that are reopened while somebody waits for the page; more are left to a job.
MOST_REOPENED = 300


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as it stands; `default` is told where it is another. `source` is the default's.

    `help` says in one line what the setting is.
    """

    name: str
    value: str
    default: str
    source: str
    help: str


@dataclass(frozen=True, slots=True)
class SettingTable:
    """One table of settings, under the name that a TOML file gives it ("" is the top level)."""

    name: str
    title: str
    rows: list[SettingRow]


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, *BROWSING)
def settings_page(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """All settings of a campaign and their versions, and the form of its stop rules."""
    settings, opened = settings_of(campaign.settings), images_by_version(campaign)
    form = RequestForm(operation_named("set_stop_rules"), account_of(request), initial=asdict(settings.stop))
    return render(
        request,
        "annotation/staff/settings.html",
        campaign_frame(
            request,
            campaign,
            "settings",
            tables=tables_of(settings, campaign.tasks),
            form=form,
            versions=versions_of(campaign),
            opened=opened if len(opened) > 1 else [],
        ),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def settings_change(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Change a campaign's settings: as TOML, first looked at, then put in force as the next version."""
    wrong, status = "", 200
    found: tuple[campaigns.SettingsDifference, ...] | None = None
    text = request.POST.get("settings", as_toml(settings_of(campaign.settings)))
    if request.method == "POST":
        try:
            wanted = settings_in(text)
            seen = seen_version(request.POST)
            campaigns.check_seen(campaign, seen)
            found = campaigns.settings_differences(campaign, wanted)
            if request.POST.get("act") == "change":
                _check_unpaid(campaign, wanted, request.POST.get("unpaid") == "yes")
                if _images_to_reopen(campaign, found) > MOST_REOPENED:
                    arguments = {"settings": wanted, "seen": seen}
                    jobs.enqueue(
                        kind="change_settings",
                        arguments=arguments,
                        campaign=campaign,
                        actor=account_of(request),
                    )
                    messages.success(request, _("The new settings take effect once the images are reopened."))
                    return redirect("jobs", campaign.name)
                done = campaigns.change_campaign_settings(
                    campaign=campaign, settings=wanted, seen=seen, actor=account_of(request)
                )
                messages.success(request, _told_change(done))
                return redirect("campaign_settings", campaign.name)
        except (CampaignError, jobs.JobError) as error:
            wrong, status, found = str(error), status_of(error), None
            campaign.refresh_from_db()
    stale = status == HTTPStatus.PRECONDITION_FAILED
    about = {
        "text": text,
        "found": [
            (each, _told(each.before), _told(each.after), str(campaigns.WHEN[each.when]))
            for each in found or ()
        ],
        "same": found == (),
        "unpaid": bool(found) and _newly_unpaid(campaign, settings_in(text)),
        "reopened": _images_to_reopen(campaign, found or ()),
        "in_force": as_toml(settings_of(campaign.settings)) if stale else None,
        "begun": campaigns.work_has_begun(campaign),
        "wrong": wrong,
    }
    return render(
        request,
        "annotation/staff/change_settings.html",
        campaign_frame(request, campaign, "settings", **about),
        status=status,
    )


def settings_in(text: str) -> dict[str, Any]:
    """The settings of a TOML text. Raises CampaignError."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # numbers of no end and depth too
        raise CampaignError(_("The settings are not valid TOML: %(error)s") % {"error": error}) from error


def seen_version(data: Mapping[str, str]) -> int:
    """The version of the settings that a form was made from. Raises StaleSettings where it names none."""
    number = query_number(data, "version")
    if number is None:
        raise campaigns.StaleSettings(
            _("The form does not say which version of the settings it shows: open the page again.")
        )
    return number


def status_of(error: Exception) -> int:
    """The status of a refused change: a stale one is told from one that cannot be."""
    return HTTPStatus.PRECONDITION_FAILED if isinstance(error, campaigns.StaleSettings) else 409


def _newly_unpaid(campaign: Campaign, wanted: Mapping[str, Any]) -> list[str]:
    """The kinds of question that would earn nothing any more, in words."""
    before = settings_of(campaign.settings).pay.unpaid(campaign.kinds)
    after = settings_of(wanted).pay.unpaid(campaign.kinds)
    return [str(kind_in_words(kind)) for kind in after if kind not in before]


def _check_unpaid(campaign: Campaign, wanted: Mapping[str, Any], meant: bool) -> None:
    if not meant and (kinds := _newly_unpaid(campaign, wanted)):
        raise CampaignError(
            _("No pay would be left for %(kinds)s: tick the box to confirm.") % {"kinds": ", ".join(kinds)}
        )


def _images_to_reopen(campaign: Campaign, found: Sequence[campaigns.SettingsDifference]) -> int:
    """How many images a change reopens."""
    return OpenImage.objects.filter(campaign=campaign).count() if campaigns.reopens(found) else 0


def _told_change(done: campaigns.SettingsChange) -> str:
    if not done.differences:
        return _("The settings are the same as before; nothing was changed.")
    said = _("Version %(number)d of the settings is in force.") % {"number": done.version}
    if done.reopened:
        said += " " + ngettext("%(n)d image was reopened.", "%(n)d images were reopened.", done.reopened) % {
            "n": done.reopened
        }
    return said


@dataclass(frozen=True, slots=True)
class ShownVersion:
    """One version of the settings: when it came, who made it, and what it changed."""

    row: SettingsVersion
    changed: list[tuple[str, str, str]]


def versions_of(campaign: Campaign) -> list[ShownVersion]:
    """The versions of a campaign's settings, the newest first."""
    rows = settings_versions(campaign)
    flat = [settings_of(row.settings).flat() for row in rows]
    return [
        ShownVersion(
            row,
            [
                (name, _told(before[name]), _told(value))
                for name, value in own.items()
                if before is not None and before[name] != value
            ],
        )
        for row, own, before in zip(rows, flat, [*flat[1:], None], strict=False)
    ]


def tables_of(settings: CampaignSettings, tasks: str) -> list[SettingTable]:
    """Every setting that matters to `tasks`, table by table."""
    protocol = settings.protocol
    of_images: dict[str, Any] = {
        "limits": protocol.limits,
        "merging": protocol.merging,
        "saving": protocol.saving,
    }
    if tasks != campaigns.ENTITIES:
        of_images = {"answers": settings.answers}
        of_images |= {"page": settings.page} if any(map(is_page, kinds_of_tasks(tasks))) else {}
    records: dict[str, Any] = {
        "protocol": protocol,
        **of_images,
        "trust": settings.trust,
        "lease": settings.lease,
        "pay": settings.pay,
        "stop": settings.stop,
        **({"machine": settings.machine} if machine_kinds(kinds_of_tasks(tasks)) else {}),
    }
    return [
        SettingTable(
            "" if name == "protocol" else name,
            str(TITLES[name]),
            _numbers(record, kinds_of_tasks(tasks)) if isinstance(record, AnswerSettings) else _rows(record),
        )
        for name, record in records.items()
    ]


def _numbers(answers: AnswerSettings, kinds: Sequence[str]) -> list[SettingRow]:
    """The numbers that these kinds of question count by."""
    return [
        SettingRow(
            name,
            _told(answers.number(name)),
            _told(number.default) if answers.number(name) != number.default else "",
            number.source,
            _(number.help) if number.help else "",
        )
        for kind in kinds
        for name, number in kind_of(kind).numbers.items()
    ]


def _rows(record: Any) -> list[SettingRow]:
    rules = field_rules(type(record))
    return [
        _row(each, record, rules[each.name].help)
        for each in fields(record)
        if not is_dataclass(getattr(record, each.name))
    ]


def _row(each: Field[Any], record: Any, help_text: str) -> SettingRow:
    value = getattr(record, each.name)
    default = each.default_factory() if each.default_factory is not MISSING else each.default
    changed = value != default
    return SettingRow(
        each.name,
        _told(value),
        _told(default) if changed else "",
        each.metadata.get("source", ""),
        _(help_text) if help_text else "",
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
    told = f"{value:g}" if isinstance(value, float) else str(value)
    return told if len(told) <= LONGEST_VALUE else f"{told[:LONGEST_VALUE]}…"
