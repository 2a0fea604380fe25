"""Prolific's confirmation of visitors: its signed links, and its API. This module makes the network calls.

A signed link ("secured external URL") carries `prolific_token`, a JWT (RS256). Checked are: the signature,
with Prolific's public keys; `exp`; `aud`, which must be our host; `iss`, if present; and that the three ids
in `prolific` are those of the address.

Source: Prolific's API reference, "Retrieve JSON Web Key Set" (what to verify in a token) and "Retrieve a
submission" (`participant`, `study_id`, `parent_study_id`, `status`); https://docs.prolific.com, read in
November 2026. It does not name the claims other than `exp`, `aud` and `prolific` (docs/entry.md lists our
assumptions).
"""

import hashlib
import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from time import monotonic
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import jwt
from django.conf import settings

_log = logging.getLogger(__name__)

PROLIFIC_API = "https://api.prolific.com"
#: The issuer of the tokens: this host, or a subdomain.
ISSUER = "prolific.com"
#: Seconds to wait for Prolific while somebody waits for a page.
_PATIENCE = 2.5
#: The maximum size in bytes of a response, and length of a token; theirs have a few hundred characters.
LARGEST, _LONGEST_TOKEN = 200_000, 8_000
#: Seconds by which two clocks may differ.
LEEWAY = 30
#: Seconds for which keys are cached, and after which an unknown key, or a failed download, is retried.
KEYS_LIFETIME, ASK_AGAIN = 12 * 3600, 60
#: The names of the ids in an address and in a token.
PARTICIPANT, STUDY, SUBMISSION = "PROLIFIC_PID", "STUDY_ID", "SESSION_ID"


class BadLink(ValueError):
    """A link without a valid signature of Prolific for this purpose and time; one line for our logs."""


class Away(Exception):
    """Prolific did not respond, or not with anything readable."""


@dataclass(frozen=True, slots=True)
class Link:
    """The ids that Prolific signed; `digest` identifies the link."""

    participant: str
    study: str
    submission: str
    digest: str


@dataclass(frozen=True, slots=True)
class SubmissionReport:
    """Prolific's report about a submission, for the time `at` or for now. `studies`: its study, and its
    parent study if there is one; empty where unknown."""

    participant: str
    studies: tuple[str, ...]
    status: str
    at: datetime | None = None


def read_link(token: str, *, host: str) -> Link:
    """Return the ids of a signed link to `host`. Raises BadLink, and Away if the keys are unavailable."""
    if len(token) > _LONGEST_TOKEN:
        raise BadLink("the token is too long")
    try:
        key = _key(str(jwt.get_unverified_header(token).get("kid", "")))
        claims = jwt.decode(
            token,
            key,
            algorithms=["RS256"],
            leeway=LEEWAY,
            options={
                "require": ["exp", "aud"],
                "verify_aud": False,
                "verify_iss": False,
                "verify_sub": False,
            },
        )
    except jwt.PyJWTError as error:
        raise BadLink(f"{type(error).__name__}: {error}") from None
    audience = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    if host.lower() not in {_host(url) for url in audience}:
        raise BadLink("the token is for another site")
    if "iss" in claims and not _is_theirs(claims["iss"]):
        raise BadLink("the token is of another issuer")
    claim = claims.get("prolific")
    ids = [
        claim.get(name) if isinstance(claim, Mapping) else None for name in (PARTICIPANT, STUDY, SUBMISSION)
    ]
    if not all(isinstance(url, str) and url for url in ids):
        raise BadLink("the token names no participant, study and submission")
    participant, study, session = map(str, ids)
    return Link(participant, study, session, hashlib.sha256(token.encode()).hexdigest()[:32])


def submission(number: str) -> SubmissionReport | None:
    """Return Prolific's report about a submission, None for an unknown one. Raises Away."""
    status, body = _fetch(
        f"{PROLIFIC_API}/api/v1/submissions/{quote(number, safe='')}/",
        {"Authorization": f"Token {settings.PROLIFIC_API_TOKEN}"},
    )
    if status == HTTPStatus.NOT_FOUND:
        return None
    if status != HTTPStatus.OK:
        raise Away(f"Prolific's API answers with status {status}")
    try:
        submission_data: Any = json.loads(body)
        studies = tuple(
            str(submission_data[name])
            for name in ("study_id", "parent_study_id")
            if submission_data.get(name)
        )
        # There is no participant until somebody has taken the place.
        return SubmissionReport(
            str(submission_data.get("participant") or ""),
            studies,
            normalised_status(str(submission_data.get("status") or "")),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Away("Prolific's API answers with what is no submission") from None


def normalised_status(text: str) -> str:
    """Normalise a status: they write AWAITING REVIEW, AWAITING_REVIEW and TIMED-OUT."""
    return text.upper().replace("_", "-")[:40]


def _fetch(address: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """Return status and body of a GET. Follows no redirects, which would pass on the token. Raises Away."""
    request = Request(address, headers={"Accept": "application/json", **headers})
    try:
        with _opener.open(request, timeout=_PATIENCE) as answer:
            return answer.status, answer.read(LARGEST)
    except HTTPError as error:
        return error.code, b""
    except (OSError, ValueError) as error:
        raise Away(f"Prolific cannot be reached: {error}") from None


class _Nowhere(HTTPRedirectHandler):
    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        return None


_opener = build_opener(_Nowhere)


class _Keys:
    """Prolific's public keys by id; fetched on demand, and cached by the process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        self.keys: dict[str, Any] = {}
        self.at = self.tried = float("-inf")

    def get(self, name: str) -> Any:
        """Return the key with that id, None if there is none. Raises Away."""
        with self.lock:
            now = monotonic()
            old = name not in self.keys or now - self.at > KEYS_LIFETIME
            if old and now - self.tried > ASK_AGAIN:
                self.tried = now
                try:
                    self.keys, self.at = _read_keys(self._fetched()), now
                except Away as why:
                    _log.warning("%s", why)
            if self.at == float("-inf"):
                raise Away("Prolific's public keys are not there")
            return self.keys.get(name)

    def _fetched(self) -> Any:
        status, body = _fetch(f"{PROLIFIC_API}/.well-known/study/jwks.json", {})
        try:
            if status == HTTPStatus.OK:
                return json.loads(body)
        except ValueError:
            pass
        raise Away(f"Prolific's public keys did not come (status {status})")


KEYS = _Keys()


def _key(name: str) -> Any:
    known = settings.PROLIFIC_JWKS
    key = _read_keys(known).get(name) if known is not None else KEYS.get(name)
    if key is None:
        raise BadLink("the token is signed by a key that is not Prolific's")
    return key


def _read_keys(document: Any) -> dict[str, Any]:
    """Return a key set's keys for RS256 signatures, by id. Raises Away if it is invalid."""
    try:
        entries = [entry for entry in document["keys"] if entry.get("kty") == "RSA"]
        return {str(entry["kid"]): jwt.PyJWK(entry, algorithm="RS256").key for entry in entries}
    except (jwt.PyJWTError, AttributeError, KeyError, TypeError, ValueError):
        raise Away("Prolific's public keys cannot be read") from None


def _host(audience: object) -> str:
    """Return the host, with the port if given, of a URL or of a bare domain."""
    text = str(audience).lower()
    try:
        return urlsplit(text if "//" in text else f"//{text}").netloc
    except ValueError:
        return ""


def _is_theirs(issuer: object) -> bool:
    host = _host(issuer)
    return host == ISSUER or host.endswith(f".{ISSUER}")
