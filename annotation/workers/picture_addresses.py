"""Signed URLs of pictures: valid for an hour, and for one session or token only."""

import time

from django.core.signing import TimestampSigner, b62_encode
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse

from annotation.task_types.practice.scenes import SCENE_PICTURES as EXAMPLES
from annotation.workers.api_tokens import digest_of_secret

#: The maximum validity of a URL in seconds, and the step to which its time is rounded.
PICTURE_LIFETIME = 3600
LIFETIME_STEP = 900
#: The variants of a picture: the file itself, or a small copy for grids.
FULL, SMALL = "full", "small"
#: The prefixes of a program's authorisation header: with a worker's token, or one of the REST API.
_TOKEN, _BEARER = "Token ", "Bearer "


class _SteppedSigner(TimestampSigner):
    """Rounds the time down, so that a picture keeps its URL for a while."""

    def timestamp(self) -> str:
        return b62_encode(int(time.time()) // LIFETIME_STEP * LIFETIME_STEP)


def picture_secret(request: HttpRequest) -> str | None:
    """Return the secret of the sender: the key of a session, or a program's token."""
    header = request.headers.get("Authorization", "")
    return header if header.startswith((_TOKEN, _BEARER)) else request.session.session_key


def required_of(secret: str) -> dict[str, str]:
    """Return the conditions under which such a secret gives access, as arguments of `may_look`."""
    if secret.startswith(_BEARER):
        return {"program": digest_of_secret(secret.removeprefix(_BEARER).strip())}
    if secret.startswith(_TOKEN):
        return {"token": digest_of_secret(secret.removeprefix(_TOKEN).strip())}
    return {"session": secret}


def picture_signer(request: HttpRequest) -> TimestampSigner:
    """Return the signer for the sender of a request only."""
    return _SteppedSigner(salt=f"annotation.picture.{picture_secret(request)}")


def signed_picture_address(request: HttpRequest, name: str, size: str = FULL) -> str:
    """Return the URL under which the sender of `request` may fetch picture `name` (of `Image.picture`).

    Pictures of examples and practice are public static files.
    """
    if name.startswith(EXAMPLES):
        return static(name)
    # A call of the API has its own account.
    account = getattr(request, "account_id", None) or request.user.pk
    return reverse("picture", args=[picture_signer(request).sign(f"{size}-{account}-{name}")])
