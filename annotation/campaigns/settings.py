"""Operations on a campaign's settings: show them, list versions, plan and make a change."""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.campaigns.changing import (
    SettingsDifference,
    change_some_settings,
    check_seen,
    reopens,
    settings_differences,
)
from annotation.common.operations import Help, Listing, OperationContext, invalid
from annotation.models import Campaign, SettingsVersion
from annotation.protocol.campaign_settings import SettingError, settings_of
from annotation.selectors.corpora import CampaignRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsRequest(CampaignRequest):
    """All settings, with their version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsVersionsRequest(CampaignRequest):
    """The versions of the settings, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettingsRequest(CampaignRequest):
    """The effects of a change of the settings, and when they begin. Nothing is changed."""

    campaign_settings: Annotated[
        dict[str, Any] | None,
        Help(_("Settings"), _("All of them; those left out have their defaults")),
    ] = None
    set: Annotated[
        tuple[Annotated[str, Field(max_length=10_000)], ...],
        Help(_("Single settings"), _("As in TOML: link_votes=3 pay.hourly=12.5")),
    ] = ()
    base_version: Annotated[
        Annotated[int, Field(ge=0)] | None,
        Help(_("Version"), _("The one that you read; nothing is changed if another is in force")),
    ] = None

    def changed(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the requested settings, based on the current ones; raises Invalid if there are none."""
        if self.campaign_settings is None and not self.set:
            raise invalid("campaign_settings", "missing")
        start = settings if self.campaign_settings is None else self.campaign_settings
        return reduce(_merged, map(_single, enumerate(self.set)), start)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSettingsRequest(PlanSettingsRequest):
    """The changes are in force as the next version. Before anybody has worked on the campaign every setting
    may change, and changes to the questions about images reopen all of them; after that, trust, lease, pay
    and stop rules change from the next task on, and the others for images that are not open yet."""

    unpaid: Annotated[
        bool, Help(_("Unpaid work is intended"), _("Answers earn nothing where the settings set no pay"))
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsInForce:
    """All settings, and their version."""

    version: int
    settings: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSettings(SettingsInForce):
    """One version of the settings, and its author: null for a command."""

    created_by: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSettings:
    """The planned changes, the number of images that would be reopened, and the kinds of questions that were
    paid and would earn nothing."""

    changed: tuple[SettingsDifference, ...]
    reopened: int
    unpaid: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSettings(PlannedSettings):
    """The changes made; `version` is in force."""

    version: int


@contextmanager
def settings_in_field(name: str) -> Iterator[None]:
    """Context that raises Invalid, with the place in the request's field, for an invalid setting."""
    try:
        yield
    except SettingError as error:
        raise invalid(f"{name}.{error.setting}", "setting", message=str(error)) from error


def show_settings(request: SettingsRequest, context: OperationContext) -> SettingsInForce:
    """Return the current settings."""
    row = request.row()
    return SettingsInForce(version=row.settings_version, settings=settings_of(row.settings).as_dict())


def list_settings_versions(request: SettingsVersionsRequest, context: OperationContext) -> Listing:
    """Return the versions of a campaign's settings."""
    rows = SettingsVersion.objects.filter(campaign__name=request.campaign).select_related("created_by")
    return Listing(rows, "-number", _stored)


@settings_in_field("campaign_settings")
def plan_settings(request: PlanSettingsRequest, context: OperationContext) -> PlannedSettings:
    """Return what a change would do."""
    row = request.row()
    check_seen(row, request.base_version)
    settings = request.changed(row.settings)
    changed = settings_differences(row, settings)
    return PlannedSettings(
        changed=changed,
        reopened=row.images.count() if reopens(changed) else 0,
        unpaid=_newly_unpaid(row, settings),
    )


@settings_in_field("campaign_settings")
def change_named_settings(request: ChangeSettingsRequest, context: OperationContext) -> ChangedSettings:
    """Put settings in force as the next version."""
    row = request.row()
    unpaid = _newly_unpaid(row, request.changed(row.settings))
    check_unpaid(request, unpaid)
    done = change_some_settings(
        campaign=row, changed=request.changed, seen=request.base_version, actor=context.actor
    )
    return ChangedSettings(
        changed=done.differences, reopened=done.reopened, unpaid=unpaid, version=done.version
    )


def check_unpaid(request: ChangeSettingsRequest, unpaid: tuple[str, ...]) -> None:
    """Raise Invalid if these kinds of questions would earn nothing, without confirmation."""
    if unpaid and not request.unpaid:
        raise invalid("unpaid", "unpaid", kinds=", ".join(unpaid))


def _stored(row: SettingsVersion) -> StoredSettings:
    return StoredSettings(
        version=row.number,
        settings=settings_of(row.settings).as_dict(),
        created_by=row.created_by.get_username() if row.created_by is not None else None,
        created_at=row.created_at,
    )


def _newly_unpaid(row: Campaign, settings: dict[str, Any]) -> tuple[str, ...]:
    """Return the kinds of questions that would no longer earn anything."""
    before = settings_of(row.settings).pay.unpaid(row.kinds)
    return tuple(kind for kind in settings_of(settings).pay.unpaid(row.kinds) if kind not in before)


def _single(numbered: tuple[int, str]) -> dict[str, Any]:
    number, text = numbered
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise invalid(f"set.{number}", "toml", message=error) from error


def _merged(settings: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Merge `more` into `settings`, table by table."""
    merged = dict(settings)
    for name, value in more.items():
        stored = merged.get(name)
        if isinstance(stored, dict) and isinstance(value, dict):
            value = _merged(stored, value)
        merged[name] = value
    return merged
