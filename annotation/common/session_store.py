"""Sessions in the database under a digest of their key: reading the database does not allow signing in.

A key has 165 random bits, so a digest without salt and without delay is safe.
"""

from hashlib import blake2b
from typing import Any, cast

from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.utils import timezone


def stored_key(key: str | None) -> str:
    """Return the key under which the session with the cookie `key` is stored: 40 characters, the column's
    length."""
    return blake2b((key or "").encode(), digest_size=20).hexdigest()


class SessionStore(DatabaseStore):
    """Django's session store, which stores only digests of keys. Its name is part of a signature."""

    def _get_session_from_db(self) -> Session | None:
        row = Session.objects.filter(
            session_key=stored_key(self.session_key), expire_date__gt=timezone.now()
        ).first()
        if row is None:
            self._session_key = None
        return row

    def exists(self, session_key: str) -> bool:
        """Whether there is a session with this key."""
        return super().exists(stored_key(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        """Return the row of this session."""
        row = cast(Session, super().create_model_instance(data))
        row.session_key = stored_key(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        """Delete the session with this key, or this one."""
        key = session_key or self.session_key
        if key is not None:
            super().delete(stored_key(key))
