"""The load of `studies.queue`: many workers over HTTP from one thread, with minimal CPU time.

    python -m studies.queue_load --port 8000 --workers workers.json --clients 32 --seconds 20 [--rate 100]

Each client is a signed-in worker on a connection that stays open. A cycle is one request: an answer, whose
response is the next task. Closed loop: every client answers as soon as it has a task. Open loop (`--rate`):
answers start at random times, and a cycle is measured from that time, whether or not a client was free. After
SPELL cycles, or if there are no more tasks of a kind, a client switches to another kind; these requests are
no cycles. The output is one JSON document.
"""

from __future__ import annotations

import argparse
import json
import selectors
import socket
import time
from collections import Counter, deque
from pathlib import Path
from random import Random
from typing import Any

from studies.queue_service import answer_to

KINDS = (
    "coref_link",
    "box_requirement",
    "box_drawing",
    "box_quality",
    "box_coverage",
    "chain_verification",
)
#: Number of cycles before a client changes the kind.
SPELL = 25
#: Seconds at the start that do not count.
WARM_UP = 3.0
#: Seconds until a client without tasks of any kind retries.
NOTHING = 0.5
_CSRF = "c" * 32


class Client:
    """One worker's connection. At any time it waits for one response, or is free."""

    def __init__(self, port: int, session: str, number: int, campaign: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.head = (
            f"Host: 127.0.0.1:{port}\r\nCookie: session={session}; csrf={_CSRF}\r\n"
            f"X-CSRFToken: {_CSRF}\r\nContent-Type: application/json\r\n"
        )
        self.chance = Random(number)
        self.number = number
        self.campaign = campaign
        self.kind = number % 3
        self.spell = self.chance.randrange(SPELL)
        self.fruitless = 0
        self.task: tuple[int, str] | None = None
        self.begun: float | None = None
        self.received = b""
        self.count = 0

    def look(self) -> None:
        self._send("/api/tasks/next", {"campaign": self.campaign, "kind": KINDS[self.kind]})

    def answer(self) -> None:
        assert self.task is not None
        (assignment, kind), self.task = self.task, None
        word, box = answer_to(kind, self.chance)
        self.count += 1
        self.spell += 1
        token = f"{self.number}-{assignment}-{self.count}"
        data = {"answer": word, "box": box, "token": token, "seconds": 4.5, "next": self.spell < SPELL}
        self._send(f"/api/assignments/{assignment}/answer", data)

    def _send(self, path: str, data: dict[str, Any]) -> None:
        body = json.dumps(data)
        self.received = b""
        self.socket.sendall(
            f"POST {path} HTTP/1.1\r\n{self.head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )

    def response(self) -> tuple[int, dict[str, Any]] | None:
        """Read available data; return the status and JSON of a complete response, or None while it is
        incomplete."""
        data = self.socket.recv(262_144)
        if not data:
            raise ConnectionError("the server closed a connection")
        self.received += data
        head, separator, body = self.received.partition(b"\r\n\r\n")
        if not separator:
            return None
        at = head.lower().index(b"content-length:") + 15
        if len(body) < int(head[at:].split(b"\r\n", 1)[0]):
            return None
        return int(head[9:12]), json.loads(body)


class Load:
    """All clients, and their measurements."""

    def __init__(self, clients: list[Client], seconds: float, rate: float | None) -> None:
        self.clients = clients
        self.selector = selectors.DefaultSelector()
        for client in clients:
            self.selector.register(client.socket, selectors.EVENT_READ, client)
        self.free: deque[Client] = deque()
        self.asleep: deque[tuple[float, Client]] = deque()
        self.latencies: list[float] = []
        self.errors: Counter[str] = Counter()
        self.nothing: Counter[str] = Counter()
        self.looks = 0
        self.start = time.perf_counter() + WARM_UP
        self.end = self.start + seconds
        self.due: deque[float] = deque()
        self.open_loop = rate is not None
        if rate is not None:
            chance, moment = Random(7), time.perf_counter()
            while moment < self.end:
                moment += chance.expovariate(rate)
                self.due.append(moment)

    def run(self) -> None:
        for client in self.clients:
            client.look()
        while (now := time.perf_counter()) < self.end:
            self._begin(now)
            wait = self.end - now
            if self.open_loop and self.due and self.free:
                wait = min(wait, max(self.due[0] - now, 0.0))
            if self.asleep:
                wait = min(wait, max(self.asleep[0][0] - now, 0.0))
            for key, _ in self.selector.select(wait):
                response = key.data.response()
                if response is not None:
                    self._done(key.data, *response)

    def _begin(self, now: float) -> None:
        """Let free clients answer: at once, or as many as are due."""
        while self.asleep and self.asleep[0][0] <= now:
            self.asleep.popleft()[1].look()
        while self.free and (not self.open_loop or (self.due and self.due[0] <= now)):
            client = self.free.popleft()
            client.begun = self.due.popleft() if self.open_loop else now
            client.answer()

    def _done(self, client: Client, status: int, body: dict[str, Any]) -> None:
        now = time.perf_counter()
        if status != 200:
            self.errors[f"{status} {body.get('code')}"] += 1
            client.begun, body = None, {"nothing": "error"}
        was_answer = client.begun is not None
        following = body.get("next") if was_answer else body
        if was_answer and following is None:
            # The last of a spell: an answer without a next task is no cycle.
            client.begun = None
        if client.begun is not None:
            if client.begun >= self.start:
                self.latencies.append(now - client.begun)
            client.begun = None
        if following is not None and "id" in following:
            client.task = (following["id"], following["kind"])
            client.fruitless = 0
            self.free.append(client)
            return
        if following is not None:
            self.nothing[following["nothing"]] += 1
        client.spell = 0
        client.fruitless += following is not None
        client.kind = (client.kind + 1) % len(KINDS)
        self.looks += 1
        if client.fruitless > len(KINDS):
            client.fruitless = 0
            self.asleep.append((now + NOTHING, client))
        else:
            client.look()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float)
    options = parser.parse_args()
    filled = json.loads(options.workers.read_text())
    clients = [
        Client(options.port, worker["session"], number, filled["campaign"])
        for number, worker in enumerate(filled["workers"][: options.clients])
    ]
    load = Load(clients, options.seconds, options.rate)
    spent = time.process_time()
    load.run()
    spent = time.process_time() - spent
    latencies = sorted(load.latencies)
    print(
        json.dumps(
            {
                "cycles": len(latencies),
                "rate": len(latencies) / options.seconds,
                **{
                    f"p{share}": latencies[min(int(len(latencies) * share / 100), len(latencies) - 1)]
                    if latencies
                    else None
                    for share in (50, 95, 99)
                },
                "looks": load.looks,
                "nothing": dict(load.nothing),
                "errors": dict(load.errors),
                "cpu": spent,
                "answers": sum(client.count for client in clients),
            }
        )
    )


if __name__ == "__main__":
    main()
