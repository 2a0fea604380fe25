"""The queue as a client for simulated workers, over HTTP: the API of docs/annotators.md.

A worker signs in and has a session; several share a connection that stays open. Lost requests are repeated
under the same token, until the server has responded or the patience ends.
"""

import http.client
import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode, urlsplit

from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.contents import corners
from annotation.protocol.questions import Answer
from annotation.simulation.kinds import SIMULATED
from annotation.simulation.visits import HandedTask, NoTaskReason, SubmitReceipt, TaskGone, TwiceAnswered

#: Seconds to wait for a response, and in all for a server that does not respond: at first, and after it has
#: responded once.
TIMEOUT, FIRST_PATIENCE, PATIENCE = 60.0, 5.0, 90.0
#: Statuses of a server or proxy that is temporarily unavailable.
_AWAY = (500, 502, 503, 504)


class Unreachable(CampaignError):
    """The server did not respond in time."""


class _Refusal(Exception):
    """The API rejected a call: a status, and the code of its problem details."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {problem.get('code')}: {problem.get('detail')}")
        self.status = status


class Connection:
    """One connection to the server at `url`, reopened when it breaks. Not thread-safe."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CampaignError(f"{url!r} is not an address; expected http://HOST:PORT")
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self._open = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._address = (parts.hostname, parts.port)
        self._patience = FIRST_PATIENCE
        self._line: http.client.HTTPConnection | None = None

    def request(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes, int]:
        """Return the response, its body, and how often the request was repeated. Raises Unreachable."""
        started, pause, again = time.monotonic(), 0.05, 0
        while True:
            try:
                if self._line is None:
                    self._line = self._open(*self._address, timeout=TIMEOUT)
                self._line.request(method, path, body, dict(headers))
                response = self._line.getresponse()
                answer = response.read()
                if response.status not in _AWAY:
                    self._patience = PATIENCE
                    return response, answer, again
                what = f"{response.status} {response.reason}"
            except (OSError, http.client.HTTPException) as error:
                what = f"{type(error).__name__}: {error}"
                self.close()
            if time.monotonic() - started > self._patience:
                raise Unreachable(
                    f"{self.origin}{path} gave no answer for {self._patience:.0f} s ({what}); is it served?"
                )
            again += 1
            time.sleep(pause)
            pause = min(2 * pause, 2.0)

    def close(self) -> None:
        """Close the connection, if it is open; the next call opens another."""
        if self._line is not None:
            self._line.close()
            self._line = None


class Session:
    """A signed-in user."""

    def __init__(self, connection: Connection, username: str, password: str) -> None:
        self._connection = connection
        self._cookies: dict[str, str] = {}
        self.lost = 0
        self._send("GET", "/sign-in/", None, {})
        form = urlencode({"username": username, "password": password}).encode()
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        response, _ = self._send("POST", "/sign-in/", form, kind)
        if response.status != 302:
            raise CampaignError(
                f"{connection.origin} did not let simulated worker {username!r} in ({response.status}); "
                "does it serve the database in use here?"
            )

    def post(self, path: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the API's response as JSON. Raises _Refusal."""
        kind = {"Content-Type": "application/json"}
        response, body = self._send("POST", path, json.dumps(data).encode(), kind)
        answer: dict[str, Any] = json.loads(body) if body else {}
        if response.status >= 300:
            raise _Refusal(response.status, answer)
        return answer

    def _send(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        if self._cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        if method == "POST":
            csrf = next((value for name, value in self._cookies.items() if name.endswith("csrf")), "")
            headers |= {"X-CSRFToken": csrf, "Referer": f"{self._connection.origin}/"}
        response, answer, again = self._connection.request(method, path, body, headers)
        self.lost += again
        for line in response.headers.get_all("Set-Cookie", []):
            for name, morsel in SimpleCookie(line).items():
                self._cookies[name] = morsel.value
        return response, answer


class HttpTaskClient:
    """The client of one signed-in worker in the campaign of this name.

    Tests begin on a page, by a button; `test` presses it for a kind. `key_of` returns the image's key for the
    name that workers see, and `counted` whether the answer to a task's id counted: both are secrets of the
    API.
    """

    def __init__(
        self,
        session: Session,
        campaign: str,
        *,
        test: Callable[[str], bool],
        key_of: Callable[[str], str],
        counted: Callable[[int], bool],
    ) -> None:
        self._session = session
        self._campaign = campaign
        self._key_of = key_of
        self._counted = counted
        self.begin_test = test

    @property
    def lost(self) -> int:
        """Number of requests that had to be repeated."""
        return self._session.lost

    def take(self, kind: str, holding: Sequence[int]) -> HandedTask | NoTaskReason:
        """See `TaskClient.take`; by the API."""
        parameters = {"campaign": self._campaign, "kind": kind, "holding": list(holding)}
        return self._handed(self._session.post("/api/tasks/next", parameters))

    def submit(
        self,
        task: HandedTask,
        reply: Answer,
        *,
        token: str,
        seconds: float,
        holding: Sequence[int],
        more: bool,
    ) -> SubmitReceipt:
        """See `TaskClient.submit`; by the API."""
        data: dict[str, Any] = {
            "token": token,
            "seconds": seconds,
            "holding": list(holding),
            "next": more,
        }
        if reply.flag:
            data |= {"flag": reply.flag, "comment": "simulated"}
        else:
            data |= {"answer": reply.answer, "box": corners(reply.box) if reply.box else None}
            data |= reply.content or {}
        try:
            taken = self._session.post(f"/api/assignments/{task.id}/answer", data)
        except _Refusal as refusal:
            if refusal.status == 409:
                raise TwiceAnswered from refusal
            if refusal.status == 410:
                raise TaskGone from refusal
            raise
        following = None if taken["next"] is None else self._handed(taken["next"])
        return SubmitReceipt(taken["repeated"], following)

    def counted(self, task: HandedTask) -> bool:
        """See `TaskClient.counted`; looked up by the code that created the client, since the API does not
        reveal it."""
        return self._counted(task.id)

    def give_back(self, task: HandedTask) -> bool:
        """See `TaskClient.give_back`; by the API."""
        return bool(self._session.post(f"/api/assignments/{task.id}/return", {})["returned"])

    def _handed(self, data: Mapping[str, Any]) -> HandedTask | NoTaskReason:
        if "nothing" in data:
            again = data.get("again_at")
            return NoTaskReason(data["nothing"], datetime.fromisoformat(again).timestamp() if again else None)
        content = SIMULATED.get(data["kind"]).content(data, self._key_of)
        expires = datetime.fromisoformat(data["expires_at"]).timestamp()
        image = self._key_of(data["image"]["name"])
        return HandedTask(data["id"], data["kind"], image, content, expires)
