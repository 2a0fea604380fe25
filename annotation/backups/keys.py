"""The secret key: whether a backup was made under the one in use, and what ends with another.

A backup never holds the key. It holds a salt and what scrypt makes of both, from which nobody finds the key
any faster than by trying.
"""

import hashlib
import hmac
import secrets

from django.conf import settings

#: What is signed or keyed, by the salt in the code, and what becomes of it under another key.
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
    "annotation.second_factor": "second factors: codes of apps are wrong; people sign in by a recovery code "
    "and set up again, or an admin resets them",
    "annotation.webhooks": "secrets of webhooks: make new ones, and give them to the receivers",
    "annotation.throttle": "limits to guessing: they count from zero again",
    "django.contrib.auth.tokens": "links to a new password that were sent: ask for another",
}


def fingerprint(salt: str | None = None) -> dict[str, str]:
    """The fingerprint of the key in use: hexadecimal `salt` and `digest`. A new salt unless one is given."""
    salt = salt or secrets.token_hex(16)
    key = str(settings.SECRET_KEY).encode()
    digest = hashlib.scrypt(key, salt=bytes.fromhex(salt), n=2**14, r=8, p=1, dklen=32)
    return {"salt": salt, "digest": digest.hex()}


def in_use(stored: dict[str, str]) -> bool:
    """Whether a fingerprint is that of the key in use."""
    return hmac.compare_digest(fingerprint(stored["salt"])["digest"], stored["digest"])
