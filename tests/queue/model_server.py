"""A model at an address of this machine, which speaks both protocols and fails as it is told."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: What the server does with a call: returns a status, headers and a body; None closes the connection.
Answer = tuple[int, dict[str, str], bytes]
Behaviour = Callable[[int, dict[str, Any]], Answer | None]


@dataclass
class ModelServer:
    """A running server: its origin, the bodies and headers of the calls, and how it answers them."""

    port: int
    behaviour: Behaviour
    calls: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    most_at_once: int = 0

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def serving(behaviour: Behaviour) -> Iterator[ModelServer]:
    lock, running = threading.Lock(), [0]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(server.calls)
                server.calls.append(body)
                server.headers.append(dict(self.headers))
                running[0] += 1
                server.most_at_once = max(server.most_at_once, running[0])
            try:
                answer = server.behaviour(number, body)
            finally:
                with lock:
                    running[0] -= 1
            if answer is None:
                self.close_connection = True
                return
            status, headers, content = answer
            with contextlib.suppress(OSError):
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *_arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        listener.daemon_threads = True
        server = ModelServer(listener.server_port, behaviour)
        thread = threading.Thread(target=listener.serve_forever, args=[0.02], daemon=True)
        thread.start()
        yield server
        listener.shutdown()
        thread.join()


def ok(content: Any) -> Answer:
    return 200, {"Content-Type": "application/json"}, json.dumps(content).encode()


def rectangle(label: str, *sides: float, score: float | None = 0.9, **about: Any) -> dict[str, Any]:
    """A rectangle of Label Studio: x, y, width and height in percent."""
    value = dict(zip(("x", "y", "width", "height"), sides, strict=True))
    row = {"type": "rectanglelabels", "value": {**value, "rotation": 0, "rectanglelabels": [label]}, **about}
    return row if score is None else {**row, "score": score}


def predicted(*rows: dict[str, Any]) -> Answer:
    return ok({"results": [{"result": list(rows), "score": 0.7, "model_version": "v1"}]})


def labels_of(body: dict[str, Any]) -> list[str]:
    """The phrases that a call of predictions asks about."""
    text: str = body["params"]["context"]["result"][0]["value"]["text"][0]
    return text.split(" . ")


def a_box_for_each(_number: int, body: dict[str, Any]) -> Answer:
    """Answer each phrase of a call of predictions with a box of the middle of the picture."""
    return predicted(*(rectangle(label, 25, 25, 50, 50) for label in labels_of(body)))


def said(text: str, usage: tuple[int, int] | None = (100, 50)) -> Answer:
    """A chat's answer in words."""
    content: dict[str, Any] = {
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]
    }
    if usage is not None:
        content["usage"] = dict(zip(("prompt_tokens", "completion_tokens"), usage, strict=True))
    return ok(content)


def slowly(seconds: float, answer: Behaviour) -> Behaviour:
    def behaviour(number: int, body: dict[str, Any]) -> Answer | None:
        time.sleep(seconds)
        return answer(number, body)

    return behaviour
