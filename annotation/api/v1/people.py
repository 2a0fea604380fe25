"""People by API, for admins of the whole server: accounts, letting them in or not, and the audit."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import OfServer, missing
from annotation.api.rest.fields import CallFields, NameField, PlainField, TextField
from annotation.api.rest.operations import GET, POST, ApiCall, ApiRoute, serves
from annotation.api.v1.me import RoleShown
from annotation.common.roles import ADMIN
from annotation.models import Account, AuditEntry
from annotation.selectors.people.accounts import EVERYBODY, PEOPLE_KINDS, PEOPLE_STATES, people_found
from annotation.selectors.people.audit import AUDIT_GROUPS, audit_found, group_of_act
from annotation.workers.accounts import activation
from annotation.workers.accounts.activation import AccountRefused

_TAG = "people"
_ADMINS = OfServer((ADMIN,))
_ONE = "people/<int:number>"


class PersonShown(serializers.Serializer[Any]):
    """An account of this server. Who works under which pseudonym is not told."""

    number = serializers.IntegerField()
    username = serializers.CharField()
    email = serializers.CharField(allow_blank=True)
    active = serializers.BooleanField()
    superuser = serializers.BooleanField()
    second_factor = serializers.BooleanField()
    roles = RoleShown(many=True)
    created_at = serializers.DateTimeField()
    signed_in_at = serializers.DateTimeField(allow_null=True)


class AccountChanged(serializers.Serializer[Any]):
    """Whether the account was changed; false where it was so before."""

    changed = serializers.BooleanField()


class PeopleFilter(CallFields):
    """Which accounts."""

    who = serializers.ChoiceField(PEOPLE_KINDS, required=False)
    state = serializers.ChoiceField(PEOPLE_STATES, required=False)
    username = TextField(required=False, max_length=150, help_text="The whole user name.")


class AuditShown(serializers.Serializer[Any]):
    """A line of the audit: who did what, and what about. Nobody named: by command."""

    number = serializers.IntegerField()
    at = serializers.DateTimeField()
    actor = serializers.CharField(allow_null=True)
    act = serializers.CharField()
    group = serializers.CharField()
    campaign = serializers.CharField(allow_null=True)
    about = PlainField()


class AuditFilter(CallFields):
    """Which lines."""

    group = serializers.ChoiceField(AUDIT_GROUPS, required=False)
    account = TextField(required=False, max_length=150, help_text="By or about this account.")
    campaign = NameField(required=False)


@serves(
    ApiRoute(
        route="people",
        method=GET,
        path="people",
        tag=_TAG,
        opens=_ADMINS,
        asked=PeopleFilter,
        answers=PersonShown,
        listed=True,
    )
)
def people_list_call(call: ApiCall) -> CursorPage:
    """List accounts, in the order in which they were made."""
    asked = call.asked
    found = people_found(kind=asked.get("who") or EVERYBODY, state=asked.get("state") or "")
    if asked.get("username"):
        found = found.filter(username=asked["username"])
    return call.rows.of_rows(found, "pk", _person_plain)


@serves(ApiRoute(route="person", method=GET, path=_ONE, tag=_TAG, opens=_ADMINS, answers=PersonShown))
def person_show_call(call: ApiCall, number: int) -> dict[str, Any]:
    """Show an account."""
    return _person_plain(_account(number))


@serves(
    ApiRoute(
        route="person_deactivate",
        method=POST,
        path=f"{_ONE}/deactivate",
        tag=_TAG,
        opens=_ADMINS,
        answers=AccountChanged,
        confirms=True,
        refuses=(AccountRefused,),
    )
)
def person_deactivate_call(call: ApiCall, number: int) -> dict[str, Any]:
    """Let nobody sign in as an account any more: its sessions end at once, and its tokens are void."""
    changed = activation.deactivate_account(account=_account(number), actor=call.account)
    return {"changed": changed}


@serves(
    ApiRoute(
        route="person_reactivate",
        method=POST,
        path=f"{_ONE}/reactivate",
        tag=_TAG,
        opens=_ADMINS,
        answers=AccountChanged,
        confirms=True,
        refuses=(AccountRefused,),
    )
)
def person_reactivate_call(call: ApiCall, number: int) -> dict[str, Any]:
    """Let an account sign in again, with the roles that it had."""
    changed = activation.reactivate_account(account=_account(number), actor=call.account)
    return {"changed": changed}


@serves(
    ApiRoute(
        route="audit",
        method=GET,
        path="audit",
        tag=_TAG,
        opens=_ADMINS,
        asked=AuditFilter,
        answers=AuditShown,
        listed=True,
    )
)
def audit_list_call(call: ApiCall) -> CursorPage:
    """List the audit of the whole server, the newest line first."""
    asked = call.asked
    found = audit_found(
        group=asked.get("group") or "",
        who=asked.get("account") or "",
        campaign=asked.get("campaign") or "",
    )
    return call.rows.of_rows(found, "-pk", _audit_plain)


def _account(number: int) -> Account:
    found = people_found().filter(pk=number).first()
    if found is None:
        raise missing(_("There is no account %(number)d here.") % {"number": number})
    return found


def _person_plain(account: Any) -> dict[str, Any]:
    return {
        "number": account.pk,
        "username": account.get_username(),
        "email": account.email,
        "active": account.is_active,
        "superuser": account.is_superuser,
        "second_factor": account.has_factor,
        "roles": [
            {
                "role": row.role,
                "corpus": row.corpus.name if row.corpus is not None else None,
                "campaign": row.campaign.name if row.campaign is not None else None,
            }
            for row in account.roles.all()
        ],
        "created_at": json_time(account.date_joined),
        "signed_in_at": json_time(account.last_login),
    }


def _audit_plain(entry: AuditEntry) -> dict[str, Any]:
    return {
        "number": entry.pk,
        "at": json_time(entry.at),
        "actor": entry.actor_name or (str(entry.actor) if entry.actor else None),
        "act": entry.act,
        "group": group_of_act(entry.act, entry.campaign_name),
        "campaign": entry.campaign_name or None,
        "about": entry.about,
    }
