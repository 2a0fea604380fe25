"""Signed addresses of pictures: one is good for an hour, and for one session or token only."""

import time

from django.core.signing import TimestampSigner, b62_encode
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse

from annotation.task_types.practice.scenes import SCENE_PICTURES as EXAMPLES
from annotation.workers.api_tokens import digest_of_secret

#: Seconds that an address is good for, at most; and the step in which its time is told.
PICTURE_LIFETIME = 3600
LIFETIME_STEP = 900
#: What an address can show: the file itself, or a small copy for grids.
FULL, SMALL = "full", "small"
#: How the header of a program begins that sends its token: a worker's, or one of the REST API.
_TOKEN, _BEARER = "Token ", "Bearer "


class _SteppedSigner(TimestampSigner):
    """Rounds the time down, so that one picture has one address for a while."""

    def timestamp(self) -> str:
        return b62_encode(int(time.time()) // LIFETIME_STEP * LIFETIME_STEP)


def picture_secret(request: HttpRequest) -> str | None:
    """What nobody else sends: the key of a session, or a program's token."""
    header = request.headers.get("Authorization", "")
    return header if header.startswith((_TOKEN, _BEARER)) else request.session.session_key


def required_of(secret: str) -> dict[str, str]:
    """What must be there for such a secret to show anything, as `may_look` takes it."""
    if secret.startswith(_BEARER):
        return {"program": digest_of_secret(secret.removeprefix(_BEARER).strip())}
    if secret.startswith(_TOKEN):
        return {"token": secret.removeprefix(_TOKEN).strip()}
    return {"session": secret}


def picture_signer(request: HttpRequest) -> TimestampSigner:
    """What signs for the sender of a request alone."""
    return _SteppedSigner(salt=f"annotation.picture.{picture_secret(request)}")


def signed_picture_address(request: HttpRequest, name: str, size: str = FULL) -> str:
    """The address under which the sender of `request` may fetch picture `name` (of `Image.picture`).

    A picture of examples and practice is a static file, which anybody may see.
    """
    if name.startswith(EXAMPLES):
        return static(name)
    # A call of the API says itself whose it is.
    account = getattr(request, "account_id", None) or request.user.pk
    return reverse("picture", args=[picture_signer(request).sign(f"{size}-{account}-{name}")])
