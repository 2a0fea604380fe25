"""Views of the signed addresses of pictures (`annotation.workers.picture_addresses`).

Pages contain addresses that are valid for an hour and only for the reader's session; programs get addresses
for their token. Serving one only needs the address and the session cookie, or the token: no database query.
Addresses stay the same for a quarter of an hour, so that browsers cache pictures.

Thumbnails are created on first access and stored under DATA_DIR/thumbnails: a page of a corpus shows 48
pictures, about five megabytes of JPEG at full size, and less than a fifth of that as WebP of 400 px. Names
are content hashes, so a thumbnail is never outdated and the folder may be deleted at any time.
"""

from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.core.signing import BadSignature
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation.common.readers import read
from annotation.images.decoding import PictureError, write_small_copy
from annotation.images.model_pictures import model_picture_name
from annotation.images.pictures import picture_path, small_copy_path
from annotation.models import Image
from annotation.workers import sessions
from annotation.workers.picture_addresses import (
    FULL,
    PICTURE_LIFETIME,
    SMALL,
    picture_secret,
    picture_signer,
    required_of,
)
from phrasebox.text_files import FormatError

#: Length of the longer side in pixels: enough for tiles of 200 to 300 px on a dense screen.
LONG_SIDE = 400


def thumbnail(picture: Path) -> Path:
    """Return the thumbnail of `picture` (never larger than it), created if missing. Raises PictureError and
    FormatError."""
    small = small_copy_path(picture)
    if not small.is_file():
        small.parent.mkdir(parents=True, exist_ok=True)
        read(write_small_copy, picture, small, LONG_SIDE)
    return small


#: Explicit, since types that the machine's table lacks would be served as downloads.
TYPES = {".gif": "image/gif", ".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}


@login_not_required
@require_safe
def picture(request: HttpRequest, token: str) -> HttpResponseBase:
    """Serve the picture that `token` names to the session of `token`."""
    try:
        secret = picture_secret(request)
        if secret is None:
            raise BadSignature("no session")
        size, account, name = picture_signer(request).unsign(token, max_age=PICTURE_LIFETIME).split("-", 2)
        # One query: signing out, and losing the account or its roles, end the address at once.
        if not sessions.may_look(int(account), **required_of(secret)):
            raise BadSignature("not signed in any more")
    except (BadSignature, ValueError):
        raise PermissionDenied(
            gettext("This picture's address has expired, or was made for somebody else. Open its page again.")
        ) from None
    return _picture(name, size)


@login_not_required
@require_safe
def model_picture(request: HttpRequest, token: str) -> HttpResponseBase:
    """Serve the picture that `token` names to a model that was asked about it."""
    try:
        name = model_picture_name(token)
    except BadSignature:
        raise PermissionDenied(gettext("This picture's address has expired.")) from None
    if not Image.objects.filter(picture=name, corpus__pictures_may_leave=True).exists():
        raise PermissionDenied(gettext("This picture may not leave the server any more."))
    return _picture(name, FULL)


def _picture(name: str, size: str) -> HttpResponseBase:
    path = picture_path(name)
    if not path.is_file():
        raise Http404(gettext("The picture's file is missing from the data folder."))
    if size == SMALL:
        try:
            path = thumbnail(path)
        except (PictureError, FormatError):
            raise Http404(gettext("The picture's file cannot be read.")) from None
    response = _file(path)
    response["Content-Type"] = TYPES[path.suffix]
    response["Cache-Control"] = f"private, max-age={PICTURE_LIFETIME}, immutable"
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Disposition"] = "inline"
    return response


def _file(path: Path) -> HttpResponseBase:
    """Return the file itself, or, behind a proxy that serves files, the header for it."""
    prefix = settings.PICTURE_PROXY_PREFIX
    if not prefix:
        return FileResponse(path.open("rb"))
    inside = path.relative_to(settings.DATA_DIR).as_posix()
    return HttpResponse(headers={"X-Accel-Redirect": f"{prefix.rstrip('/')}/{inside}"})
