"""The audit log for admins: who did what, by subject."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.db.models import Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, Listing, OneOf, OperationContext
from annotation.models import AuditEntry

_CAMPAIGNS, _EVALUATION, _SERVER = "campaigns", "evaluation", "server"
#: Acts by the group of the list's filter. New acts belong into one of these.
_ACTS: dict[str, tuple[str, ...]] = {
    "people": (
        *("grant_role", "revoke_role", "invite_staff", "revoke_staff_invitation", "first_account"),
        *("deactivate_account", "reactivate_account", "make_password_link", "send_password_link"),
        "change_email",
        *("add_second_factor", "remove_second_factor", "reset_second_factor", "renew_recovery_codes"),
        *("use_recovery_code", "set_second_factor_rule", "connect_sign_in", "disconnect_sign_in"),
        *("erase_worker", "join_worker", "confirm_visit", "correct_country"),
    ),
    "tokens": ("make_token", "revoke_token"),
    "corpora": (
        *("import_corpus", "add_images", "publish_captions", "delete_corpus", "withdraw_picture"),
        *("set_licence", "set_pictures_may_leave", "mark_phrases", "draw_error_sample"),
    ),
    "identities": ("download_identities",),
    _EVALUATION: (
        *("remove_caption_set", "remove_features", "remove_localization_set", "remove_qrels"),
        "remove_judgments",
        *("remove_report", "remove_run", "remove_system", "remove_tag_set"),
        *("add_system", "add_run", "add_judgments", "freeze_qrels", "build_report"),
        *("archive_system", "archive_run", "archive_batch", "archive_report"),
        *("unarchive_system", "unarchive_run", "unarchive_batch", "unarchive_report"),
    ),
}
#: Labels of the groups. Acts in no group belong to campaigns if they are about one, else to the server: jobs,
#: webhooks, alarms, restored backups.
AUDIT_GROUPS: dict[str, str | Promise] = {
    "people": _("people and roles"),
    _CAMPAIGNS: _("campaigns"),
    _EVALUATION: _("evaluation"),
    "identities": _("downloads of identities"),
    "tokens": _("tokens"),
    "corpora": _("corpora"),
    _SERVER: _("the server"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """Who did what on this server, the newest line first."""

    group: Annotated[Annotated[str, OneOf(AUDIT_GROUPS.copy, _("all"))] | None, Help(_("About"))] = None
    account: Annotated[
        Annotated[str, Field(max_length=150)] | None, Help(_("Account"), _("By it, or about it"))
    ] = None
    campaign: Annotated[
        Annotated[str, Field(max_length=100)] | None, Help(_("Campaign"), _("It may be deleted"))
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """A line of the audit log: actor, act and subject. Without an actor: by command."""

    number: int
    at: datetime
    actor: str | None
    act: str
    group: str
    campaign: str | None
    about: dict[str, Any]


def list_audit(request: AuditRequest, context: OperationContext) -> Listing:
    """Return the requested lines."""
    rows = audit_entries(
        group=request.group or "", account=request.account or "", campaign=request.campaign or ""
    )
    return Listing(rows, "-pk", _line)


def audit_entries(*, group: str = "", account: str = "", campaign: str = "") -> QuerySet[AuditEntry]:
    """Return lines of the audit log of a group, by or about an account, about a campaign; the newest first.

    Acts in no group belong to `campaigns` if they are about one, else to `server`.
    """
    entries = AuditEntry.objects.select_related("campaign", "actor")
    if group in _ACTS:
        entries = entries.filter(act__in=_ACTS[group])
    elif group in (_CAMPAIGNS, _SERVER):
        named = [act for acts in _ACTS.values() for act in acts]
        about_none = Q(campaign_name="")
        entries = entries.exclude(act__in=named).filter(about_none if group == _SERVER else ~about_none)
    if account:
        entries = entries.filter(Q(actor_name=account) | Q(about__account=account))
    if campaign:
        entries = entries.filter(campaign_name=campaign)
    return entries.order_by("-pk")


def group_of_act(act: str, campaign: str) -> str:
    """Return the group of an act about a campaign, or about none ("")."""
    for group, acts in _ACTS.items():
        if act in acts:
            return group
    return _CAMPAIGNS if campaign else _SERVER


def _line(entry: AuditEntry) -> AuditLine:
    return AuditLine(
        number=entry.pk,
        at=entry.at,
        actor=entry.actor_name or (str(entry.actor) if entry.actor else None),
        act=entry.act,
        group=group_of_act(entry.act, entry.campaign_name),
        campaign=entry.campaign_name or None,
        about=entry.about,
    )
