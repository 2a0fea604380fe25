"""A campaign's settings: value, default and where that is from; their versions, and how they change."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, asdict, dataclass, fields, is_dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from annotation import campaigns, jobs
from annotation.campaigns.settings import ChangedSettings, ChangeSettingsRequest, check_unpaid, plan_settings
from annotation.common.operations import Invalid, OperationContext, operation_named
from annotation.common.roles import RESEARCHER
from annotation.models import Campaign, SettingsVersion
from annotation.protocol.campaign_settings import CampaignError, CampaignSettings, as_toml, settings_of
from annotation.protocol.counted import AnswerSettings
from annotation.protocol.kinds import is_page, kind_of, kinds_of_tasks, machine_kinds
from annotation.selectors.settings_versions import images_by_version, settings_versions
from annotation.web.common.access import BROWSING, account_of, for_roles_on
from annotation.web.common.request_forms import RequestForm
from annotation.web.staff.frame import CAMPAIGN_OF_ADDRESS, campaign_frame
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
#: Images that are reopened while somebody waits; a job reopens more.
MOST_REOPENED = 300
#: Characters of a setting that the page shows; the form to change it has all.
LONGEST_VALUE = 80


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
    """Change a campaign's settings: first looked at, then put in force as the next version."""
    account, operation = account_of(request), operation_named("change_settings")
    sent = request.POST.copy()
    sent["campaign"] = campaign.name
    sent["campaign_settings"] = (
        sent.get("campaign_settings", "").strip() or "#"
    )  # a text that sets nothing, not none
    form = RequestForm(
        operation,
        account,
        sent if request.method == "POST" else None,
        initial={"campaign_settings": as_toml(settings_of(campaign.settings))},
        fields_shown=("campaign", "campaign_settings", "base_version", "unpaid"),
    )
    plan, wrong, status = None, "", 200
    if request.method == "POST":
        try:
            status = 200 if form.is_valid() else 400
            if status == 200 and request.POST.get("act") == "change":
                if _enqueued(request, campaign, form.request):
                    return redirect("jobs", campaign.name)
                done = operation.run(form.request, OperationContext(account))
                messages.success(request, _told_change(done))
                return redirect("campaign_settings", campaign.name)
            plan = plan_settings(form.request, OperationContext(account)) if status == 200 else None
        except Invalid as error:
            form.refuse(error)
            status = 400
        except campaigns.StaleSettings as error:
            wrong, status = str(error), 412
        except (CampaignError, jobs.JobError) as error:
            wrong, status = str(error), 409
        campaign.refresh_from_db()
    found = plan.changed if plan is not None else ()
    about = {
        "form": form,
        "plan": plan,
        "found": [
            (each, _told(each.before), _told(each.after), str(campaigns.WHEN[each.when])) for each in found
        ],
        "in_force": as_toml(settings_of(campaign.settings)) if status == 412 else None,
        "begun": campaigns.work_has_begun(campaign),
        "wrong": wrong,
    }
    frame = campaign_frame(request, campaign, "settings", **about)
    return render(request, "annotation/staff/change_settings.html", frame, status=status)


def _enqueued(request: HttpRequest, campaign: Campaign, change: ChangeSettingsRequest) -> bool:
    """Whether a job was enqueued for the change, since more images are reopened than anybody waits for."""
    account = account_of(request)
    plan = plan_settings(change, OperationContext(account))
    if plan.reopened <= MOST_REOPENED:
        return False
    check_unpaid(change, plan.unpaid)
    seen = campaign.settings_version if change.base_version is None else change.base_version
    arguments = {"settings": change.changed(campaign.settings), "seen": seen}
    jobs.enqueue(kind="change_settings", arguments=arguments, campaign=campaign, actor=account)
    messages.success(request, _("The new settings take effect once the images are reopened."))
    return True


def settings_in(text: str) -> dict[str, Any]:
    """The settings of a TOML text. Raises CampaignError."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # numbers of no end and depth too
        raise CampaignError(_("The settings are not valid TOML: %(error)s") % {"error": error}) from error


def _told_change(done: ChangedSettings) -> str:
    if not done.changed:
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
