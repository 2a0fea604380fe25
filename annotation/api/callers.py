"""Identify the caller: the account of a token or a session, and its worker, in one query.

A token needs no cookies, so that no foreign page can send it, and no CSRF token. A session is checked as in
Django; its writes need the CSRF token, as forms do.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user
from django.db import connection
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from annotation.api.problems import Problem, check_csrf
from annotation.common import database
from annotation.common.roles import ADMIN, ANNOTATOR
from annotation.common.session_store import SessionStore, stored_key
from annotation.models import Account
from annotation.workers import pseudonyms, sessions
from annotation.workers.api_tokens import digest_of_secret

_SCHEME = "Token "
#: Maximum number of characters of a token.
_LONGEST_TOKEN = 128
#: Size of a process's caches of sessions' accounts and of decoded session data.
OWNERS_CACHED = 4096
#: The account's id by session key, from the last call: a guess that every call checks.
_owners: dict[str, int] = {}

#: Whether the account may work, on the campaign of an assignment if there is one.
_WHO = f"""SELECT a.id, a.password, a.is_active, a.is_superuser, i.worker_id,
        EXISTS (SELECT 1 FROM annotation_rolegrant r WHERE r.account_id = a.id
            AND r.role IN ('{ANNOTATOR}', '{ADMIN}')
            AND NOT EXISTS (SELECT 1 FROM annotation_assignment s
                JOIN annotation_campaign c ON c.id = s.campaign_id
                WHERE s.id = %s AND NOT (
                    COALESCE(r.campaign_id = c.id OR r.corpus_id = c.corpus_id, FALSE)
                    OR (r.campaign_id IS NULL AND r.corpus_id IS NULL
                        AND (c.open_to_all OR r.role = '{ADMIN}')))))
    FROM annotation_account a LEFT JOIN annotation_identity i ON i.account_id = a.id"""


class _Row(NamedTuple):
    account: int
    password: str
    is_active: bool
    is_superuser: bool
    worker: int | None
    may_work: bool


def worker_calling(request: HttpRequest, assignment: int | None = None) -> int:
    """Return the id of the worker who sent `request`, and may work on the campaign of the assignment.

    Raises Problem: signed out, no role, or no CSRF token.
    """
    about = assignment if assignment is not None and assignment <= database.LARGEST_ID else None
    header = request.headers.get("Authorization", "")
    row = _by_token(header, about) if header.startswith(_SCHEME) else _by_session(request, about)
    caller: Any = request
    caller.account_id = row.account  # for whom addresses of pictures are signed
    if not (row.may_work or row.is_superuser):
        raise Problem(
            HTTPStatus.FORBIDDEN,
            "no_role",
            _("This account does not have the annotator role: ask an admin of this server for it."),
        )
    if row.worker is not None:
        return row.worker
    return pseudonyms.worker_of(Account.objects.get(pk=row.account)).pk


def _by_token(header: str, about: int | None) -> _Row:
    token = header.removeprefix(_SCHEME).strip()
    row = None
    if token.isascii() and token.isprintable() and len(token) <= _LONGEST_TOKEN:
        which = "JOIN annotation_workertoken t ON t.account_id = a.id WHERE t.digest = %s"
        row = _row(which, [about, digest_of_secret(token)])
    if row is None or not row.is_active:
        raise _signed_out(_("This token is not valid: ask an admin of this server for another."))
    return row


def _by_session(request: HttpRequest, about: int | None) -> _Row:
    row, session = _of_session(request, about)
    if row is None or not row.is_active or not _still_valid(request, session, row):
        raise _signed_out(_("Sign in, or send a token: Authorization: Token KEY."))
    if sessions.sets_up_first(session):
        raise Problem(HTTPStatus.FORBIDDEN, "second_factor", _("Set up your second factor first."))
    if request.method not in ("GET", "HEAD"):
        check_csrf(request)
    return row


def _of_session(request: HttpRequest, about: int | None) -> tuple[_Row | None, Mapping[str, Any]]:
    """Return the account of the caller's session, None without one, and the session's data.

    Reads the same as `request.session`, without its cost: an eighth of a whole cycle. The account of a
    session is in its data, which a database cannot read, so two queries would be needed; but it is usually
    the same as in the last call.
    """
    key = request.session.session_key
    if not key:
        return None, {}
    guess = _owners.get(key, 0)
    with connection.cursor() as cursor:
        database.execute(
            cursor,
            f"""SELECT s.session_data, who.* FROM django_session s LEFT JOIN ({_WHO}) who ON who.id = %s
                WHERE s.session_key = %s AND s.expire_date > %s""",
            [about, guess, stored_key(key), database.sql_time(timezone.now())],
        )
        row = cursor.fetchone()
    if row is None:
        return None, {}
    session = _decoded(row[0], settings.SECRET_KEY)
    if not session.get(SESSION_KEY):
        return None, session
    owner = int(session[SESSION_KEY])
    if owner == guess:
        return (_Row(*row[1:]) if row[1] is not None else None), session
    if len(_owners) >= OWNERS_CACHED:
        _owners.clear()
    _owners[key] = owner
    return _row("WHERE a.id = %s", [about, owner]), session


@lru_cache(maxsize=OWNERS_CACHED)
def _decoded(data: str, secret: str) -> Mapping[str, Any]:
    """Return a session's decoded data, {} if they were not signed with this secret."""
    return MappingProxyType(SessionStore().decode(data))


def _still_valid(request: HttpRequest, session: Mapping[str, Any], row: _Row) -> bool:
    """Whether the session was opened under the account's current password, by a way of signing in that is
    still open."""
    stored = session.get(HASH_SESSION_KEY, "")
    if session.get(BACKEND_SESSION_KEY) and constant_time_compare(
        stored, _hash_under(row.password, settings.SECRET_KEY)
    ):
        return True
    # Django supports older secrets and renews what was signed with one.
    return get_user(request).is_authenticated


@lru_cache(maxsize=OWNERS_CACHED)
def _hash_under(password: str, secret: str) -> str:
    """Return the hash in a session that was opened under this password (itself a hash)."""
    return Account(password=password).get_session_auth_hash()


def _row(which: str, values: Sequence[Any]) -> _Row | None:
    with connection.cursor() as cursor:
        database.execute(cursor, f"{_WHO} {which}", values)
        row = cursor.fetchone()
    return _Row(*row) if row else None


def _signed_out(detail: str) -> Problem:
    return Problem(HTTPStatus.UNAUTHORIZED, "signed_out", detail, headers={"WWW-Authenticate": "Token"})
