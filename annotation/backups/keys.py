"""The secret key: whether a backup was made under the current one, and what another key invalidates.

A backup never contains the key. It contains a salt and scrypt's result for both, from which the key can only
be guessed.
"""

import hashlib
import hmac
import secrets

from django.conf import settings

#: What is signed or encrypted, by the salt in the code, and the effect of another key on it.
BROKEN: dict[str, str] = {
    "django.contrib.sessions": "sessions: everybody signs in again",
    "annotation.api.cursor": "cursors of the REST API: programs begin their lists again",
    "annotation.invitation": "invitation links: those already sent no longer work; send new ones",
    "annotation.staff_invitation": "invitations of staff: those already sent no longer work; invite again",
    "annotation.known_browser": "known browsers: a wrong password there waits as it does anywhere",
    "annotation.letters": "links to a new password that are not sent yet: ask for them again",
    "annotation.image": "names of images on task pages: half-drawn boxes there are lost",
    "annotation.mturk": "links from a HIT of Mechanical Turk to its tasks: workers open the HIT again",
    "annotation.picture": "addresses of pictures, valid for an hour: reload open pages",
    "annotation.picture.model": "addresses of pictures for models, valid for an hour: ask the model again",
    "annotation.second_factor": "second factors: codes of apps are wrong; people sign in by a recovery code "
    "and set up again, or an admin resets them",
    "annotation.webhooks": "secrets of webhooks: make new ones, and give them to the receivers",
    "annotation.throttle": "limits to guessing: they count from zero again",
    "django.contrib.auth.tokens": "links to a new password that were sent: ask for another",
}


def fingerprint(salt: str | None = None) -> dict[str, str]:
    """Return the fingerprint of the current key: hexadecimal `salt` and `digest`, by default with a new
    salt."""
    salt = salt or secrets.token_hex(16)
    key = str(settings.SECRET_KEY).encode()
    digest = hashlib.scrypt(key, salt=bytes.fromhex(salt), n=2**14, r=8, p=1, dklen=32)
    return {"salt": salt, "digest": digest.hex()}


def in_use(stored: dict[str, str]) -> bool:
    """Return whether a fingerprint is that of the current key."""
    return hmac.compare_digest(fingerprint(stored["salt"])["digest"], stored["digest"])
