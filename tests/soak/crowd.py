"""The crowd: workers over HTTP, each in a thread, who repeat requests until acknowledged and log everything.

They take tasks by campaign and kind, think, submit each answer with a key of its own, repeat it with the same
key after any error, click twice, answer from a second tab, return tasks, exceed some leases, renew leases,
and fetch pictures.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from studies.queue_service import answer_to
from tests.soak import ledger
from tests.soak.ledger import Journal, digest_of
from tests.soak.web import Line, Lost, Response, Troubles

#: Number of answers after which a worker moves to another kind or campaign.
SPELL = 12
#: Shares of tasks: returned, kept beyond the lease, renewed, reported.
RETURNED, OVERDUE, RENEWED, FLAGGED = 0.02, 0.015, 0.02, 0.01
#: Shares of answers: sent again after the acknowledgement, answered again with another key.
TWICE, OTHERWISE = 0.03, 0.01
#: Share of tasks whose picture is fetched.
PICTURES = 0.05
#: Seconds between two attempts, growing.
AGAIN = 0.5, 8.0
#: The lease of the soak's campaigns, in seconds.
LEASE = 60.0


class Offer(NamedTuple):
    """A campaign and one of its kinds, with tasks."""

    campaign: str
    kind: str


class Board:
    """Shared state of all workers: the offers, whether to continue, and how often there was no task."""

    def __init__(self, think: float) -> None:
        self.think = think
        self.tasks: list[Offer] = []
        self.stopping = threading.Event()
        self.give_up = threading.Event()
        self._looks: deque[bool] = deque(maxlen=400)

    def looked(self, result: bool) -> None:
        self._looks.append(result)

    @property
    def dry(self) -> bool:
        """Return whether half of the last requests got no task."""
        return len(self._looks) >= 200 and sum(self._looks) < len(self._looks) / 2

    def refreshed(self) -> None:
        self._looks.clear()


class Worker:
    """A worker of the crowd."""

    def __init__(
        self,
        person: Mapping[str, str],
        password: str,
        *,
        url: str,
        board: Board,
        troubles: Troubles,
        journals: Path,
        seed: int,
    ) -> None:
        self.name = person["name"]
        self.board, self.troubles = board, troubles
        self.chance = Random(f"{seed} {self.name}")
        self.journal = Journal(journals, self.name)
        self._password = "" if person["token"] else password
        self._line = Line(url, troubles, token=person["token"])
        self._count = 0
        self._spell = 0
        self._offer: Offer | None = None
        self._fruitless = 0

    def work(self) -> None:
        """Work until stopped; then complete the answers that were sent."""
        self.board.stopping.wait(self.chance.uniform(0, self.board.think))
        task: dict[str, Any] | None = None
        while not self.board.stopping.is_set():
            try:
                task = self._treated(task) if task is not None else self._next()
            except Lost:
                self._pause(AGAIN[0])
            except Exception as error:
                self.troubles.refusal(f"the harness: {type(error).__name__}: {error}"[:120])
                task = None
                self._pause(AGAIN[1])
        self._line.close()
        self.journal.close()

    # Taking ---------------------------------------------------------------------------------------

    def _next(self) -> dict[str, Any] | None:
        """Return a task of the current offer, or of another after SPELL answers or if none is left."""
        if self._offer is None or self._spell <= 0:
            self._offer = self.chance.choice(self.board.tasks)
            self._spell = self.chance.randint(2, 2 * SPELL)
        data = {"campaign": self._offer.campaign, "kind": self._offer.kind}
        message = self._insist("/api/tasks/next", data)
        if message is None or message.status != 200:
            if message is not None:
                self._count_error("next", message)
                self._pause(AGAIN[1])
            return None
        return self._taken(message.json())

    def _taken(self, result: Mapping[str, Any]) -> dict[str, Any] | None:
        """Log and return an assigned task; None if there is none."""
        if "id" in result:
            self.journal.note(ledger.LEASED, result["id"], kind=result["kind"])
            self.board.looked(True)
            self._fruitless = 0
            return dict(result)
        code = result.get("nothing", "")
        self.troubles.count(f"nothing: {code}")
        if code == "no_consent" and self._offer is not None:
            self._agree(self._offer.campaign)
            return None
        self.board.looked(False)
        self._offer, self._fruitless = None, self._fruitless + 1
        self._pause(min(6.0, 0.2 * self._fruitless))
        return None

    def _agree(self, campaign: str) -> None:
        message = self._line.get(f"/api/campaigns/{campaign}/consent")
        if message.status == 200:
            self._insist(f"/api/campaigns/{campaign}/consent", {"version": message.json()["version"]})

    # Working --------------------------------------------------------------------------------------

    def _treated(self, task: dict[str, Any]) -> dict[str, Any] | None:
        """Think about a task and answer or return it; return the next task if the response has one."""
        luck = self.chance.random()
        self._think(task["id"], retained=luck < OVERDUE)
        if self.board.stopping.is_set():
            return None
        if self.chance.random() < PICTURES and task["image"]["picture"]:
            self._line.get(task["image"]["picture"])
        if OVERDUE <= luck < OVERDUE + RETURNED:
            self._return(task["id"])
            if self.chance.random() < 0.7:
                return None  # else answered late
        return self._answered(task)

    def _think(self, assignment: int, *, retained: bool) -> None:
        """Wait some seconds; or longer than the lease, with a renewal now and then."""
        seconds = min(self.chance.expovariate(1 / self.board.think), 6 * self.board.think)
        if retained:
            seconds = LEASE * self.chance.uniform(1.1, 1.6)
        elif self.chance.random() < RENEWED:
            message = self._insist(f"/api/assignments/{assignment}/heartbeat", {})
            if message is not None and message.status == 200:
                self.journal.note(ledger.RENEWED, assignment)
            elif message is not None:
                self._count_error("heartbeat", message)
        self.board.stopping.wait(seconds)

    def _return(self, assignment: int) -> None:
        message = self._insist(f"/api/assignments/{assignment}/return", {})
        if message is not None and message.status == 200:
            self.journal.note(ledger.RETURNED, assignment, more=str(message.json().get("returned")))

    def _answered(self, task: dict[str, Any]) -> dict[str, Any] | None:
        self._count += 1
        self._spell -= 1
        key = f"{self.name}-{self._count}"
        answer = self._answer_to(task)
        content: dict[str, Any] = {n: answer[n] for n in ("ticked", "text", "regions") if n in answer}
        digest = digest_of(
            answer.get("answer", ""), answer.get("box"), answer.get("flag", ""), content or None
        )
        self.journal.note(ledger.SENDING, task["id"], key=key, digest=digest, kind=task["kind"])
        path = f"/api/assignments/{task['id']}/answer"
        more = self._spell > 0
        message = self._insist(path, {**answer, "token": key, "seconds": 2.5, "next": more})
        if message is None:
            return None
        if message.status != 200:
            self._count_error("answer", message)
            code = f"{message.status} {message.json().get('code')}"
            self.journal.note(ledger.REJECTED, task["id"], key=key, kind=task["kind"], more=code)
            return None
        body = message.json()
        self._acknowledged(task["id"], key, body)
        following = body.get("next")
        if self.chance.random() < TWICE:
            twice = self._insist(path, {**answer, "token": key, "seconds": 2.5, "next": False})
            if twice is not None and twice.status == 200:
                self._acknowledged(task["id"], key, twice.json())
                self.troubles.count("sent again")
        if self.chance.random() < OTHERWISE:
            another = self._insist(path, {**answer, "token": f"{key}-other", "next": False})
            if another is not None:
                self.troubles.count(
                    f"under another key: {another.status} {another.json().get('code', '')}".strip()
                )
        return self._taken(following) if following is not None else None

    def _acknowledged(self, assignment: int, key: str, reported: Mapping[str, Any]) -> None:
        what = ledger.REPEATED if reported.get("repeated") else ledger.STORED
        self.journal.note(what, assignment, key=key)
        self.troubles.count("acknowledged" if what == ledger.STORED else "acknowledged as repeated")

    def _answer_to(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """Return a careless worker's answer, in the form that is sent."""
        kind, chance = task["kind"], self.chance
        if chance.random() < FLAGGED:
            return {"flag": "offensive", "comment": "soak"}
        if kind == "graded_relevance":
            return {"answer": chance.choice("1234")}
        if kind == "caption_writing":
            return {"answer": "written", "text": f"Some people stand near {chance.randrange(10**6)} others."}
        if kind == "relevance":
            rows = [[chance.random() < 0.4 for _ in block["captions"]] for block in task["blocks"]]
            return {"answer": "judged", "ticked": rows}
        if kind == "region_description":
            parts = []
            for number in range(task["regions"]):
                # Side by side: identical boxes are refused.
                x, y = 1 + 60 * number + chance.randrange(30), chance.randrange(1, 60)
                parts.append({"box": [x, y, x + 20, y + 20], "text": f"part {x} {y}", "way": ""})
            return {"answer": "described", "regions": parts}
        word, box = answer_to(kind, chance)
        return {"answer": word, "box": box}

    # Repeating ------------------------------------------------------------------------------------

    def _insist(self, path: str, data: Mapping[str, Any]) -> Response | None:
        """Send until there is a response that is not a server error; None if the run is over."""
        pause = AGAIN[0]
        while not self.board.give_up.is_set():
            try:
                response = self._line.post(path, data)
                if response.status == 401 and self._password:
                    self._line.sign_in(self.name, self._password)
                    self.troubles.count("signed in")
                elif response.status < 500 and response.status != 429:
                    return response
                pause = max(pause, response.retry_after)
            except Lost:
                pass
            self.board.give_up.wait(pause * self.chance.uniform(0.7, 1.3))
            pause = min(2 * pause, AGAIN[1])
        return None

    def _count_error(self, what: str, message: Response) -> None:
        self.troubles.refusal(f"{what}: {message.status} {message.json().get('code', '')}")

    def _pause(self, seconds: float) -> None:
        self.board.stopping.wait(seconds * self.chance.uniform(0.5, 1.5))


class Crowd:
    """All workers, at work in threads."""

    def __init__(
        self,
        people: Sequence[Mapping[str, str]],
        password: str,
        *,
        url: str,
        think: float,
        folder: Path,
        seed: int,
    ) -> None:
        folder.mkdir()
        self.journals = folder
        self.board, self.troubles = Board(think), Troubles()
        workers = [
            Worker(
                person,
                password,
                url=url,
                board=self.board,
                troubles=self.troubles,
                journals=folder,
                seed=seed,
            )
            for person in people
        ]
        self._threads = [threading.Thread(target=worker.work, name=worker.name) for worker in workers]
        for thread in self._threads:
            thread.daemon = True

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, patience: float) -> int:
        """Let workers complete the answers that were sent; return how many did not within `patience`
        seconds."""
        self.board.stopping.set()
        deadline = time.monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        left = sum(thread.is_alive() for thread in self._threads)
        self.board.give_up.set()
        for thread in self._threads:
            thread.join(40)
        return left
