"""Addresses under which a model that is asked about a picture may fetch it: signed, and valid for an hour."""

from django.core.signing import TimestampSigner
from django.urls import reverse

_LIFETIME = 3600


def _signer() -> TimestampSigner:
    return TimestampSigner(salt="annotation.picture.model")


def model_picture_address(name: str) -> str:
    """Return the path under which a model may fetch picture `name`."""
    return reverse("model_picture", args=[_signer().sign(name)])


def model_picture_name(token: str) -> str:
    """Return the name of the picture that an address is for. Raises BadSignature."""
    return _signer().unsign(token, max_age=_LIFETIME)
