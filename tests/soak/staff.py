"""A staff member who runs the campaigns: requests exports, watches them, fetches the results."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from tests.soak.web import Line, Lost, Troubles

#: Seconds between two jobs, and between two requests of a page.
EVERY, LOOK = 30.0, 4.0
FORMATS = ("entities", "jsonl")


@dataclass
class Jobs:
    """Acknowledged jobs: numbers that pages showed, by campaign; and fetched results."""

    requested: int = 0
    seen: dict[int, str] = field(default_factory=dict)
    fetched: dict[int, str] = field(default_factory=dict)
    troubles: Counter[str] = field(default_factory=Counter)


class Staff:
    """A session over pages, in a thread."""

    def __init__(self, url: str, name: str, password: str, troubles: Troubles, seed: int) -> None:
        self.jobs = Jobs()
        self.stopping = threading.Event()
        self.campaigns: list[str] = []
        self._line, self._name, self._password = Line(url, troubles), name, password
        self._chance = Random(f"{seed} staff")
        self._in = False
        self._thread = threading.Thread(target=self._work, name="staff", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.stopping.set()
        self._thread.join(60)

    def _work(self) -> None:
        while not self.stopping.is_set():
            campaign = self._chance.choice(self.campaigns)
            try:
                if self._ask(campaign, self._chance.choice(("export", "export", "refresh"))):
                    self._watch(campaign)
            except Lost:
                pass
            except Exception as error:
                self.jobs.troubles[f"the harness: {type(error).__name__}: {error}"[:120]] += 1
            self.stopping.wait(EVERY * self._chance.uniform(0.5, 1.5))

    def export(self, campaign: str, form: str) -> None:
        """Request another export until it is accepted; used at the end, without other load."""
        while not self.stopping.is_set() and not self._ask(campaign, "export", form):
            self.stopping.wait(LOOK)

    def _ask(self, campaign: str, act: str, form: str = "") -> bool:
        """Request a job; return whether the pages acknowledged it."""
        if not self._in:
            self._in = self._line.sign_in(self._name, self._password)
            if not self._in:
                return False
        data = {"act": act, "layer": campaign, "unfinished": "include"}
        data["format"] = form or self._chance.choice(FORMATS)
        message = self._line.form(f"/campaigns/{campaign}/jobs/start/", data)
        if message.status == 302 and "/sign-in/" in message.location:
            self._in = False
            return False
        if message.status != 302:
            return False
        displayed = self._look(campaign)
        self.jobs.requested += displayed
        return displayed

    def _look(self, campaign: str) -> bool:
        """Log the jobs that the campaign's page shows; return whether it showed any."""
        while not self.stopping.is_set():
            try:
                message = self._line.get(f"/campaigns/{campaign}/jobs/")
                if message.status == 200:
                    break
            except Lost:
                pass
            self.stopping.wait(LOOK)
        else:
            return False
        page = message.body.decode(errors="replace")
        numbers = {int(number) for number in re.findall(r"/jobs/(\d+)/(?:change|download)/", page)}
        self.jobs.seen.update(dict.fromkeys(numbers - set(self.jobs.seen), campaign))
        return bool(numbers) or "data-live" in page

    def _watch(self, campaign: str) -> None:
        """View the page a few times, and fetch the finished jobs' results."""
        for _ in range(5):
            self.stopping.wait(LOOK)
            message = self._line.get(f"/campaigns/{campaign}/jobs/")
            ready = re.findall(rb"/jobs/(\d+)/download/", message.body)
            new = [int(number) for number in ready if int(number) not in self.jobs.fetched]
            if new:
                self._fetch(campaign, new[0])
                return

    def _fetch(self, campaign: str, job: int) -> None:
        message = self._line.get(f"/campaigns/{campaign}/jobs/{job}/download/")
        if message.status == 200:
            self.jobs.fetched[job] = hashlib.sha256(message.body).hexdigest()
