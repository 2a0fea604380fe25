"""A user's connection to the server: persistent, with cookies, and with counts of errors by kind."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Mapping
from http.cookies import SimpleCookie
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

#: Seconds to wait for a response: longer than any pause of a process in the soak.
TIMEOUT = 30.0
#: Seconds after which an idle connection is not used again: the server closes it after two.
IDLE = 1.5


class Response(NamedTuple):
    """A response: its status, the address of a redirect, its body, and the time to wait, if it has one."""

    status: int
    location: str
    body: bytes
    retry_after: float

    def json(self) -> dict[str, Any]:
        try:
            payload = json.loads(self.body or b"{}")
        except ValueError:
            return {}
        return payload if isinstance(payload, dict) else {}


class Lost(Exception):
    """No response arrived: the request may have been done, or not."""


class Troubles:
    """Counts of failed requests by kind, from all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.kinds: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()

    def trouble(self, kind: str) -> None:
        with self._lock:
            self.kinds[kind] += 1

    def refusal(self, kind: str) -> None:
        with self._lock:
            self.rejected[kind] += 1

    def count(self, what: str, number: int = 1) -> None:
        with self._lock:
            self.counts[what] += number


class Line:
    """A connection to `url`, opened again after each failure. Not for two threads."""

    def __init__(self, url: str, troubles: Troubles, *, token: str = "") -> None:
        parts = urlsplit(url)
        self.origin, self._host = url, (parts.hostname or "", parts.port)
        self._troubles, self._token = troubles, token
        self._cookies: dict[str, str] = {}
        self._line: http.client.HTTPConnection | None = None
        self._used = 0.0

    def post(self, path: str, data: Mapping[str, Any]) -> Response:
        return self._send("POST", path, json.dumps(data).encode(), "application/json")

    def form(self, path: str, data: Mapping[str, str]) -> Response:
        return self._send("POST", path, urlencode(data).encode(), "application/x-www-form-urlencoded")

    def get(self, path: str) -> Response:
        return self._send("GET", path, None, "")

    def sign_in(self, name: str, password: str) -> bool:
        """Sign in over the pages; return whether it succeeded."""
        self._cookies.clear()
        if self.get("/sign-in/").status != 200:
            return False
        return self.form("/sign-in/", {"username": name, "password": password}).status == 302

    def _send(self, method: str, path: str, body: bytes | None, kind: str) -> Response:
        """Return the server's response, whatever it is; count server errors. Raises Lost."""
        headers = {"Content-Type": kind} if kind else {}
        if self._token:
            headers["Authorization"] = f"Token {self._token}"
        else:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
            headers |= {"X-CSRFToken": self._cookies.get("csrf", ""), "Referer": f"{self.origin}/"}
        if time.monotonic() - self._used > IDLE:
            self.close()
        try:
            if self._line is None:
                self._line = http.client.HTTPConnection(*self._host, timeout=TIMEOUT)
            self._line.request(method, path, body, headers)
            response = self._line.getresponse()
            read = response.read()
            self._used = time.monotonic()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            self._troubles.trouble(f"no answer: {type(error).__name__}")
            raise Lost from error
        for line in response.headers.get_all("Set-Cookie", []):
            for name, morsel in SimpleCookie(line).items():
                self._cookies[name] = morsel.value
        retry = response.headers.get("Retry-After", "")
        message = Response(
            response.status,
            response.headers.get("Location", ""),
            read,
            float(retry) if retry.isdigit() else 0.0,
        )
        if message.status >= 500:
            self._troubles.trouble(f"{message.status} {message.json().get('code') or 'page'}")
        return message

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
