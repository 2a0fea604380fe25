"""The client: calls of the API, lists page by page, waiting for jobs."""

from __future__ import annotations

import hashlib
import json
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urljoin
from urllib.request import HTTPRedirectHandler, Request, build_opener

#: Number of attempts while the server is away, and seconds before the next one.
TRIES, PAUSE = 4, 1.0
#: Statuses after which the same call may succeed.
_AGAIN = (429, 502, 503, 504)
#: The server's code for a call that is still running, and the maximum number of polls.
_UNDER_WAY, _POLLS = "still_at_work", 120


class Problem(Exception):
    """An error of the server: `status`, `code`, `detail` and `errors`."""

    def __init__(self, status: int, about: Mapping[str, Any], *, wait: float = 0.0) -> None:
        self.status = status
        self.code = str(about.get("code", ""))
        self.detail = str(about.get("detail", ""))
        self.errors = list(about.get("errors", []))
        self.wait = wait
        super().__init__(f"{status} {self.code}: {self.detail}")


class JobFailed(Exception):
    """A job that failed or was cancelled; `job` is the server's description."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.job = dict(job)
        super().__init__(f"job {job['number']} ({job['kind']}) {job['state']}: {job['error']}")


class _NoRedirects(HTTPRedirectHandler):
    """The API never redirects, and a token is sent to no other server."""

    def redirect_request(self, *about: Any) -> None:
        return None


class Client:
    """Calls a server with a token of the page "My account", "API tokens".

    Writes have an idempotency key, so that one without a response is sent again and run once.
    """

    def __init__(self, server: str, token: str, *, timeout: float = 60.0) -> None:
        self._base = f"{server.rstrip('/')}/api/v1/"
        self._token, self._timeout = token, timeout
        self._opener = build_opener(_NoRedirects)

    def get(self, path: str, **parameters: Any) -> Any:
        """Return the object at `path`, such as `campaigns/quay`. Raises Problem."""
        return self._json("GET", path, parameters=parameters)

    def rows(self, path: str, **parameters: Any) -> Iterator[Any]:
        """Yield all rows of a list, fetched page by page. Raises Problem."""
        cursor = None
        while True:
            page = self.get(path, **parameters, **({"cursor": cursor} if cursor else {}))
            yield from page["results"]
            cursor = page["next"]
            if cursor is None:
                return

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Create or run something; return the server's response, for a job the job. Raises Problem."""
        return self._json("POST", path, body=body or {}, key=str(uuid.uuid4()))

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """Change something. Raises Problem."""
        return self._json("PATCH", path, body=body)

    def delete(self, path: str) -> Any:
        """Delete something. Raises Problem."""
        return self._json("DELETE", path)

    def upload(self, path: str, fields: Mapping[str, Any], **files: Path | str) -> Any:
        """Send files with their fields, as required by `runs` and `system-uploads`. Raises Problem."""
        held = {name: (Path(file).name, Path(file).read_bytes()) for name, file in files.items()}
        return self._form("POST", path, fields, held, key=str(uuid.uuid4()))

    def send_corpus(self, name: str, *sources: Path | str, add: bool = False) -> Any:
        """Send captions and pictures (files, folders, a zip) for a new corpus, or to `add` to one, in parts;
        return the upload.

        After an interruption, call it again with the same files: it resumes, within a day. Then
        `post("uploads/KEY/check")` lists all problems, and `post("uploads/KEY/import")` creates the corpus;
        both are jobs. Raises Problem.
        """
        files = [(path, file_path) for source in sources for path, file_path in _files_of(Path(source))]
        descriptions = [{"path": path, "size": file_path.stat().st_size} for path, file_path in files]
        upload = self.post("uploads", {"name": name, "files": descriptions, "add": add})
        for file in upload["files"]:
            self._send_file(upload, file["number"], file["received"], files[file["number"]][1])
        return self.get(f"uploads/{upload['key']}")

    def _send_file(self, upload: Mapping[str, Any], number: int, received: int, file_path: Path) -> None:
        """Send the missing parts of a file. If a response was lost, the server knows the offset."""
        path = f"uploads/{upload['key']}/files/{number}"
        size, tried = file_path.stat().st_size, 0
        with file_path.open("rb") as file:
            while received < size:
                file.seek(received)
                part = file.read(upload["part_bytes"])
                fields = {"offset": received, "sha256": hashlib.sha256(part).hexdigest()}
                try:
                    # Without a key: a repeated part is rejected, as its offset is wrong.
                    received = self._form("POST", path, fields, {"part": ("part", part)})["received"]
                    tried = 0
                except (Problem, URLError, TimeoutError, ConnectionError) as error:
                    tried += 1
                    problem = error if isinstance(error, Problem) else None
                    if tried > TRIES or (
                        problem and problem.code != "refused" and problem.status not in _AGAIN
                    ):
                        raise
                    time.sleep((problem.wait if problem else 0.0) or PAUSE)
                    received = self.get(f"uploads/{upload['key']}")["files"][number]["received"]

    def download(self, path: str, body: Mapping[str, Any] | None = None, **parameters: Any) -> bytes:
        """Return a file, such as `jobs/12/download`; with a `body` by POST, as required by `platform-list`.
        Raises Problem."""
        if body is not None:
            return self._send(
                "POST", path, json.dumps(body).encode(), "application/json", parameters=parameters
            )[1]
        return self._send("GET", path, None, "", parameters=parameters)[1]

    def call(self, operation: str, body: Mapping[str, Any] | None = None, /, **parameters: Any) -> Any:
        """Run any operation of the server's OpenAPI document, such as `call("show_run", run="x")`.

        Path and query parameters are keyword arguments; `body` has the other fields, with a Path for a file.
        Return the server's response, or the bytes of a file. Raises Problem, and LookupError for an unknown
        operation.
        """
        method, path, about = self.operations[operation]
        path_values = {
            name: quote(str(parameters.pop(name)), safe="") for name in re.findall(r"{(\w+)}", path)
        }
        address, body = path.format(**path_values), body or {}
        takes_key = "Idempotency-Key" in {parameter["name"] for parameter in about.get("parameters", ())}
        key = str(uuid.uuid4()) if takes_key else ""
        files = {name: value for name, value in body.items() if isinstance(value, Path)}
        if files:
            fields = {name: value for name, value in body.items() if name not in files}
            held = {name: (file.name, file.read_bytes()) for name, file in files.items()}
            return self._form(method, address, fields, held, key=key)
        payload = json.dumps(body).encode() if "requestBody" in about else None
        status, content = self._send(
            method, address, payload, "application/json", parameters=parameters, key=key
        )
        answer = about["responses"][str(status)].get("content", {})
        return content if answer and "application/json" not in answer else _read(content)

    @cached_property
    def operations(self) -> Mapping[str, tuple[str, str, Mapping[str, Any]]]:
        """Return the operations of the server's OpenAPI document: method, address, and description."""
        return {
            about["operationId"]: (method.upper(), path, about)
            for path, methods in self.get("openapi.json")["paths"].items()
            for method, about in methods.items()
        }

    def finished(self, job: Mapping[str, Any], *, every: float = 1.0, timeout: float = 3600.0) -> Any:
        """Wait until a job is done, and return it. Raises JobFailed, and TimeoutError after `timeout`
        seconds."""
        until = time.monotonic() + timeout
        while True:
            now = self.get(f"jobs/{job['number']}")
            if now["state"] == "done":
                return now
            if now["state"] in ("failed", "cancelled"):
                raise JobFailed(now)
            if time.monotonic() > until:
                raise TimeoutError(f"job {job['number']} ({job['kind']}) is still {now['state']}")
            time.sleep(every)

    def _form(
        self,
        method: str,
        path: str,
        fields: Mapping[str, Any],
        files: Mapping[str, tuple[str, bytes]],
        *,
        key: str = "",
    ) -> Any:
        """Send a form: its fields, and files by name with their contents."""
        boundary = uuid.uuid4().hex
        parts = []
        for name, value in fields.items():
            text = _text(value)
            parts.append(
                f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode()
            )
        for name, (called, held) in files.items():
            disposition = f'name="{name}"; filename="{quote(called)}"'
            head = f"--{boundary}\r\nContent-Disposition: form-data; {disposition}\r\n"
            parts += [f"{head}Content-Type: application/octet-stream\r\n\r\n".encode(), held, b"\r\n"]
        payload = b"".join(parts) + f"--{boundary}--\r\n".encode()
        kind = f"multipart/form-data; boundary={boundary}"
        return _read(self._send(method, path, payload, kind, key=key)[1])

    def _json(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        key: str = "",
    ) -> Any:
        payload = None if body is None else json.dumps(body).encode()
        return _read(self._send(method, path, payload, "application/json", parameters=parameters, key=key)[1])

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        kind: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        key: str = "",
    ) -> tuple[int, bytes]:
        """Send a call; retry it if the server is away and the call is repeatable."""
        held = {name: _text(value) for name, value in (parameters or {}).items() if value is not None}
        query = f"?{urlencode(held, doseq=True)}" if held else ""
        address = urljoin(self._base, path)
        # The calls of workers are at other addresses, and have tokens of their own.
        scheme = "Bearer" if address.startswith(self._base) else "Token"
        headers = {"Authorization": f"{scheme} {self._token}", "Accept": "application/json"}
        headers |= {"Content-Type": kind} if body is not None else {}
        headers |= {"Idempotency-Key": key} if key else {}
        request = Request(address + query, body, headers, method=method)
        repeatable = method == "GET" or bool(key)
        tries, again = TRIES, -1
        while True:
            again += 1
            last = again >= tries - 1 or not repeatable
            try:
                with self._opener.open(request, timeout=self._timeout) as answer:
                    return answer.status, answer.read()
            except HTTPError as error:
                problem = _problem(error)
                if problem.code == _UNDER_WAY:
                    tries = max(tries, _POLLS)
                    last = again >= tries - 1
                elif problem.status not in _AGAIN:
                    last = True
                if last:
                    raise problem from None
                time.sleep(problem.wait or PAUSE * 2 ** min(again, TRIES))
            except (URLError, TimeoutError, ConnectionError):
                if last:
                    raise
                time.sleep(PAUSE * 2 ** min(again, TRIES))


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else str(value)


def _files_of(source: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a source, each with its path on the server."""
    if not source.is_dir():
        yield source.name, source
        return
    for file_path in sorted(source.rglob("*")):
        if file_path.is_file() and not file_path.name.startswith("."):
            yield f"{source.name}/{file_path.relative_to(source).as_posix()}", file_path


def _read(body: bytes) -> Any:
    return json.loads(body) if body else None


def _problem(error: HTTPError) -> Problem:
    wait = error.headers.get("Retry-After", "") if error.headers else ""
    try:
        about = json.loads(error.read() or b"{}")
    except ValueError:
        about = {"detail": error.reason}
    return Problem(
        error.code, about if isinstance(about, dict) else {}, wait=float(wait) if wait.isdigit() else 0.0
    )
