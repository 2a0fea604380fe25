"""A campaign's settings with defaults and sources, their versions and changes; and its instructions and
consent text, shown and edited."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from annotation import campaigns, instructions, jobs
from annotation.campaigns.setting_fields import setting_fields
from annotation.campaigns.settings import ChangedSettings, ChangeSettingsRequest, check_unpaid, plan_settings
from annotation.common.operations import Invalid, OperationContext, operation_named
from annotation.common.roles import RESEARCHER
from annotation.models import Campaign, Consent, Instructions, SettingsVersion
from annotation.protocol.campaign_settings import CampaignError, CampaignSettings, as_toml, settings_of
from annotation.selectors.campaigns import images_by_version, settings_versions
from annotation.web.common.access import BROWSING, account_of, for_roles_on
from annotation.web.common.request_forms import RequestForm
from annotation.web.staff.campaign_pages import CAMPAIGN_OF_ADDRESS, campaign_frame
from annotation.web.staff.wording import kind_in_words

#: Maximum number of images that are reopened during a request; a job reopens more.
MOST_REOPENED = 300
#: Maximum number of characters of a setting on the page; the form to change it shows all.
LONGEST_VALUE = 80


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting with its current value; `default` is set if it differs. `source` is the default's."""

    name: str
    value: str
    default: str
    source: str
    help: str


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, *BROWSING)
def settings_page(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show all settings of a campaign and their versions, and the form of its stop rules."""
    settings, opened = settings_of(campaign.settings), images_by_version(campaign)
    form = RequestForm(operation_named("set_stop_rules"), account_of(request), initial=asdict(settings.stop))
    return render(
        request,
        "annotation/staff/settings.html",
        campaign_frame(
            request,
            campaign,
            "settings",
            tables=_tables(settings, campaign.tasks),
            toml=as_toml(settings),
            form=form,
            versions=versions_of(campaign),
            opened=opened if len(opened) > 1 else [],
        ),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def settings_change(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Change a campaign's settings: first a preview, then the next version."""
    account, operation = account_of(request), operation_named("change_settings")
    form_data = request.POST.copy()
    form_data["campaign"] = campaign.name
    form = RequestForm(
        operation,
        account,
        form_data if request.method == "POST" else None,
        initial={"campaign_settings": settings_of(campaign.settings).as_dict()},
        only_fields=("campaign", "campaign_settings", "base_version", "unpaid"),
        settings={"campaign_settings": setting_fields(campaign.tasks)},
    )
    plan, problem, status = None, "", 200
    if request.method == "POST":
        try:
            status = 200 if form.is_valid() else 400
            if status == 200 and request.POST.get("act") == "change":
                if _enqueued(request, campaign, form.request):
                    return redirect("jobs", campaign.name)
                done = operation.run(form.request, OperationContext(account))
                messages.success(request, _change_message(done))
                return redirect("campaign_settings", campaign.name)
            plan = plan_settings(form.request, OperationContext(account)) if status == 200 else None
        except Invalid as error:
            form.refuse(error)
            status = 400
        except campaigns.StaleSettings as error:
            problem, status = str(error), 412
        except (CampaignError, jobs.JobError) as error:
            problem, status = str(error), 409
        campaign.refresh_from_db()
    differences = plan.changed if plan is not None else ()
    about = {
        "form": form,
        "plan": plan,
        "differences": [
            (
                difference,
                _value_text(difference.before),
                _value_text(difference.after),
                str(campaigns.WHEN[difference.when]),
            )
            for difference in differences
        ],
        "in_force": as_toml(settings_of(campaign.settings)) if status == 412 else None,
        "begun": campaigns.work_has_begun(campaign),
        "error": problem,
    }
    frame = campaign_frame(request, campaign, "settings", **about)
    return render(request, "annotation/staff/change_settings.html", frame, status=status)


def _enqueued(request: HttpRequest, campaign: Campaign, change: ChangeSettingsRequest) -> bool:
    """Whether a job was enqueued for the change, since it reopens more images than a request may."""
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


def _change_message(done: ChangedSettings) -> str:
    if not done.changed:
        return _("The settings are the same as before; nothing was changed.")
    message = _("Version %(number)d of the settings is in force.") % {"number": done.version}
    if done.reopened:
        message += " " + ngettext(
            "%(n)d image was reopened.", "%(n)d images were reopened.", done.reopened
        ) % {"n": done.reopened}
    return message


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One version of the settings: its time, its author, and its changes."""

    row: SettingsVersion
    changed: list[tuple[str, str, str]]


def versions_of(campaign: Campaign) -> list[VersionRow]:
    """Return the versions of a campaign's settings, the newest first."""
    rows = settings_versions(campaign)
    flat = [settings_of(row.settings).flat() for row in rows]
    return [
        VersionRow(
            row,
            [
                (name, _value_text(before[name]), _value_text(value))
                for name, value in values.items()
                if before is not None and before[name] != value
            ],
        )
        for row, values, before in zip(rows, flat, [*flat[1:], None], strict=False)
    ]


def _tables(settings: CampaignSettings, tasks: str) -> list[tuple[str, list[SettingRow]]]:
    """Return every setting that is relevant to `tasks`, by the title of its table."""
    tables: dict[str, list[SettingRow]] = {}
    values = settings.as_dict()
    for setting in setting_fields(tasks):
        value = setting.of(values)
        changed = value != setting.default_value
        default = _value_text(setting.default_value) if changed else ""
        row = SettingRow(setting.name, _value_text(value), default, setting.source, str(setting.label))
        tables.setdefault(str(setting.group), []).append(row)
    return list(tables.items())


def _value_text(value: Any) -> str:
    """Return a value as text for people."""
    if value is None:
        return _("never")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {item:g}" for name, item in value.items()) or _("none")
    if isinstance(value, list | tuple):
        return ", ".join(" + ".join(item) if isinstance(item, list | tuple) else str(item) for item in value)
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def campaign_text_edit(
    request: HttpRequest, campaign: Campaign, kind: str = instructions.CONSENT
) -> HttpResponse:
    """Show one text of a campaign: the version for workers, a form to edit it, all versions."""
    if kind not in (instructions.CONSENT, *campaign.kinds):
        raise Http404(_("There is no text of “%(kind)s”.") % {"kind": kind})
    now = instructions.current_text(campaign=campaign, kind=kind)
    form = RequestForm(operation_named("publish_text"), account_of(request), initial={"text": now.text})
    agreed = Consent.objects.filter(text__campaign=campaign, text__version=now.version).count()
    versions: list[Instructions] = instructions.text_versions(campaign=campaign, kind=kind)
    return render(
        request,
        "annotation/staff/texts.html",
        campaign_frame(
            request,
            campaign,
            "texts",
            kind=kind,
            kinds=[(text_kind, _name(text_kind)) for text_kind in (instructions.CONSENT, *campaign.kinds)],
            title=_name(kind),
            text=now,
            form=form,
            versions=versions,
            agreed=agreed if kind == instructions.CONSENT else None,
        ),
    )


def _name(kind: str) -> str:
    """Return the title of a text."""
    return _("consent") if kind == instructions.CONSENT else str(kind_in_words(kind))
