"""The caller by API: who they are, which roles they hold under this token, and their tokens."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import SignedIn, missing
from annotation.api.rest.operations import DELETE, GET, ApiCall, ApiRoute, serves
from annotation.common.roles import WHOLE_SERVER
from annotation.models import ApiToken, Campaign, Corpus
from annotation.workers.api_tokens import revoke_api_token

_TAG = "account"


class RoleShown(serializers.Serializer[Any]):
    """A role, and what it is for; for the whole server where both are null."""

    role = serializers.CharField()
    corpus = serializers.CharField(allow_null=True)
    campaign = serializers.CharField(allow_null=True)


class AccountShown(serializers.Serializer[Any]):
    """Who calls, and what this token or session lets them do."""

    username = serializers.CharField()
    roles = RoleShown(many=True)


class TokenShown(serializers.Serializer[Any]):
    """A token, but for its secret, which is shown once where it is made."""

    number = serializers.IntegerField()
    name = serializers.CharField()
    hint = serializers.CharField(help_text="How the secret begins.")
    writes = serializers.BooleanField()
    corpus = serializers.CharField(allow_null=True)
    campaign = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    used_at = serializers.DateTimeField(allow_null=True, help_text="To the hour.")


@serves(ApiRoute(route="me", method=GET, path="me", tag=_TAG, opens=SignedIn(), answers=AccountShown))
def me_show_call(call: ApiCall) -> dict[str, Any]:
    """Show who calls, and with which roles."""
    granted = call.account.granted
    corpora = _names(Corpus, {each.scope.corpus for each in granted})
    campaigns = _names(Campaign, {each.scope.campaign for each in granted})
    return {
        "username": call.account.get_username(),
        "roles": [
            {
                "role": each.role,
                "corpus": corpora.get(each.scope.corpus),
                "campaign": campaigns.get(each.scope.campaign),
            }
            for each in sorted(granted, key=str)
        ],
    }


@serves(
    ApiRoute(
        route="tokens",
        method=GET,
        path="tokens",
        tag=_TAG,
        opens=SignedIn(),
        answers=TokenShown,
        listed=True,
    )
)
def tokens_list_call(call: ApiCall) -> CursorPage:
    """List your tokens, the newest first; by a token for a corpus or a campaign, that token alone. They are
    made on the page “My account”, which asks for the password."""
    return call.rows.of_rows(_own_tokens(call).select_related("corpus", "campaign"), "-pk", _token_plain)


@serves(ApiRoute(route="token", method=DELETE, path="tokens/<int:number>", tag=_TAG, opens=SignedIn()))
def token_revoke_call(call: ApiCall, number: int) -> None:
    """Revoke a token of yours, at once; by a token for a corpus or a campaign, that token alone."""
    known = _own_tokens(call).filter(pk=number).exists()
    if not known or not revoke_api_token(account=call.account, token=number):
        raise missing(_("You have no token %(number)d.") % {"number": number})


def _own_tokens(call: ApiCall) -> QuerySet[ApiToken]:
    """The tokens that a call may know of."""
    found = ApiToken.objects.filter(account_id=call.account.pk)
    limited = call.token is not None and call.scope != WHOLE_SERVER
    return found.filter(pk=call.token.pk) if limited and call.token is not None else found


def _token_plain(token: ApiToken) -> dict[str, Any]:
    return {
        "number": token.pk,
        "name": token.name,
        "hint": token.hint,
        "writes": token.writes,
        "corpus": token.corpus.name if token.corpus is not None else None,
        "campaign": token.campaign.name if token.campaign is not None else None,
        "created_at": json_time(token.created_at),
        "expires_at": json_time(token.expires_at),
        "used_at": json_time(token.used_at),
    }


def _names(model: Any, ids: set[int | None]) -> dict[int | None, str]:
    return dict(model.objects.filter(pk__in=ids - {None}).values_list("pk", "name")) if ids - {None} else {}
