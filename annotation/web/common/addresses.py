"""Signed addresses of pictures, and the view behind them.

A page that somebody may read carries addresses that are good for an hour and for that
person's session only; what a program is told, for the token that it sends. Serving one is
arithmetic on the address and the session cookie, or the token: no database query. Addresses
stay the same for a quarter of an hour, so that browsers cache what they have seen.
"""

from __future__ import annotations

import time
from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.core.signing import BadSignature, TimestampSigner, b62_encode
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation.images.pictures import picture_path
from annotation.task_types.practice.scenes import SCENE_PICTURES as EXAMPLES
from annotation.web.common.thumbnails import thumbnail
from annotation.workers import sessions
from annotation.workers.api_tokens import digest_of_secret

#: Seconds that an address is good for, at most; and the step in which its time is told.
PICTURE_LIFETIME = 3600
LIFETIME_STEP = 900
#: What an address can show: the file itself, or a small copy for grids.
FULL, SMALL = "full", "small"
#: How the header of a program begins that sends its token: a worker's, or one of the REST API.
_TOKEN, _BEARER = "Token ", "Bearer "
#: Spelled out: what the machine's own table of types lacks would go out as a download.
TYPES = {".gif": "image/gif", ".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}


class _SteppedSigner(TimestampSigner):
    """Rounds the time down, so that one picture has one address for a while."""

    def timestamp(self) -> str:
        return b62_encode(int(time.time()) // LIFETIME_STEP * LIFETIME_STEP)


def _secret(request: HttpRequest) -> str | None:
    """What nobody else sends: the key of a session, or a program's token."""
    header = request.headers.get("Authorization", "")
    return header if header.startswith((_TOKEN, _BEARER)) else request.session.session_key


def _held(secret: str) -> dict[str, str]:
    """What must be there for such a secret to show anything, as `may_look` takes it."""
    if secret.startswith(_BEARER):
        return {"program": digest_of_secret(secret.removeprefix(_BEARER).strip())}
    if secret.startswith(_TOKEN):
        return {"token": secret.removeprefix(_TOKEN).strip()}
    return {"session": secret}


def _signer(request: HttpRequest) -> TimestampSigner:
    return _SteppedSigner(salt=f"annotation.picture.{_secret(request)}")


def signed_picture_address(request: HttpRequest, name: str, size: str = FULL) -> str:
    """The address under which the sender of `request` may fetch picture `name` (of `Image.picture`).

    A picture of examples and practice is a static file, which anybody may see.
    """
    if name.startswith(EXAMPLES):
        return static(name)
    # A call of the API says itself whose it is.
    account = getattr(request, "account_id", None) or request.user.pk
    return reverse("picture", args=[_signer(request).sign(f"{size}-{account}-{name}")])


@login_not_required
@require_safe
def picture(request: HttpRequest, token: str) -> HttpResponseBase:
    """Serve the picture that `token` names to the session that `token` was made for."""
    try:
        secret = _secret(request)
        if secret is None:
            raise BadSignature("no session")
        size, account, name = _signer(request).unsign(token, max_age=PICTURE_LIFETIME).split("-", 2)
        # One query: signing out, and losing one's account or roles, end the address at once.
        if not sessions.may_look(int(account), **_held(secret)):
            raise BadSignature("not signed in any more")
    except (BadSignature, ValueError):
        raise PermissionDenied(
            gettext("This picture's address has expired, or was made for somebody else. Open its page again.")
        ) from None
    path = picture_path(name)
    if not path.is_file():
        raise Http404(gettext("The picture's file is missing from the data folder."))
    if size == SMALL:
        path = thumbnail(path)
    response = _file(path)
    response["Content-Type"] = TYPES[path.suffix]
    response["Cache-Control"] = f"private, max-age={PICTURE_LIFETIME}, immutable"
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Disposition"] = "inline"
    return response


def _file(path: Path) -> HttpResponseBase:
    """The file itself, or, behind a proxy that serves files, the header that makes it do so."""
    prefix = settings.PICTURE_PROXY_PREFIX
    if not prefix:
        return FileResponse(path.open("rb"))
    inside = path.relative_to(settings.DATA_DIR).as_posix()
    return HttpResponse(headers={"X-Accel-Redirect": f"{prefix.rstrip('/')}/{inside}"})
