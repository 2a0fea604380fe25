"""Sign-in sessions: ending them, and deleting expired ones."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models import Exists, Q
from django.utils import timezone

from annotation.common import database
from annotation.common.session_store import SessionStore, stored_key
from annotation.models import Account, ApiToken, RoleGrant, WorkerToken

#: The session key of the visit; it also marks sessions of people who came from a crowd platform.
VISIT = "visit"
#: The session key that says that the account has to set up a second factor first.
SET_UP_FIRST = "set_up_second_factor"
#: Seconds for which an entered password counts.
CONFIRM_SECONDS = 5 * 60
#: The session key of the time when the password was last entered, in seconds since 1970.
CONFIRMED_AT = "confirmed_at"
#: Number of rows deleted in one statement.
_CHUNK = 500


class EndedAccess(NamedTuple):
    """What ending an account's access deleted."""

    sessions: int
    tokens: int


def end_access(account: Account) -> EndedAccess:
    """Sign `account` out everywhere and revoke its tokens: when it loses a role, is deactivated or erased.

    This also invalidates URLs of pictures, which require an existing session or token.
    """
    with database.writing():
        sessions = _sessions_of(account)
        for start in range(0, len(sessions), _CHUNK):
            Session.objects.filter(pk__in=sessions[start : start + _CHUNK]).delete()
        tokens, _by_model = WorkerToken.objects.filter(account=account).delete()
        programs, _by_model = ApiToken.objects.filter(account=account).delete()
    return EndedAccess(len(sessions), tokens + programs)


def hand_over(old: Account, new: Account) -> int:
    """Turn the sessions of `old` into sessions of `new`, who is the same person; return their number."""
    sessions = _sessions_of(old)
    for session in list(Session.objects.select_for_update().filter(pk__in=sessions).order_by("pk")):
        data = session.get_decoded()
        data[SESSION_KEY] = str(new.pk)
        data[HASH_SESSION_KEY] = new.get_session_auth_hash()
        Session.objects.filter(pk=session.pk).update(session_data=SessionStore().encode(data))
    return len(sessions)


def _sessions_of(account: Account) -> list[str]:
    """Return the keys of an account's sessions. All are read: the owner is in the session data."""
    return [
        session.pk
        for session in Session.objects.iterator()
        if session.get_decoded().get(SESSION_KEY) == str(account.pk)
    ]


def by_address(session: Mapping[str, Any]) -> bool:
    """Whether a session was opened through an address of a crowd platform: it may only work."""
    return VISIT in session


def sets_up_first(session: Mapping[str, Any]) -> bool:
    """Whether a session may only set up a second factor."""
    return bool(session.get(SET_UP_FIRST))


def may_look(account: int, *, session: str = "", token: str = "", program: str = "") -> bool:
    """Whether this session, or a token of workers' calls or of the API (by its digest), still gives read
    access; one query."""
    now = timezone.now()
    if program:
        held = Exists(ApiToken.objects.filter(digest=program, account=account, expires_at__gt=now))
    elif token:
        held = Exists(WorkerToken.objects.filter(digest=token, account=account))
    else:
        held = Exists(Session.objects.filter(session_key=stored_key(session), expire_date__gt=now))
    roles = Exists(RoleGrant.objects.filter(account=account))
    return Account.objects.filter(held, Q(roles) | Q(is_superuser=True), pk=account, is_active=True).exists()


def prune_sessions() -> None:
    """Delete expired sessions."""
    database.delete_in_steps(Session.objects.filter(expire_date__lt=timezone.now()))


def mark_confirmed(session: Any) -> None:
    """Record that the signed-in account has just entered its password."""
    session[CONFIRMED_AT] = int(database.now().timestamp())


def recently_confirmed(session: Mapping[str, Any]) -> bool:
    """Whether the signed-in account entered its password within the last minutes."""
    at = session.get(CONFIRMED_AT)
    return isinstance(at, int) and 0 <= database.now().timestamp() - at <= CONFIRM_SECONDS
