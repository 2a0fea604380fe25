"""Whose request is next: each caller has so many requests at a time, and so much CPU in each process.

A worker works on one question at a time, so that their calls and pages are answered one after the other, and
slowly where several come at a time; pages and pictures are read on a few connections. Who computes more than
PACE has to wait, in debt, for LONGEST_DEBT at most.
"""

import heapq
import re
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from django.conf import settings

from config.single_thread_worker import HANDED

#: Where the application puts the number of the account that called, under "account".
CALLER = "phrasebox.caller"
#: Seconds of CPU that an account may take for each second in each process; how many it may save up; and for
#: how many seconds it waits at most where it took more.
PACE, SAVED, LONGEST_DEBT = 0.15, 1.0, 2.0
#: Seconds between two requests about tasks of an account that sends several at a time.
APART = 0.1
#: Sessions and tokens whose account is remembered.
REMEMBERED = 4096


class Slot(NamedTuple):
    """Of whom a request is: an account, a session or token that was not seen before, or an address."""

    caller: str
    kind: str
    credential: str = ""
    #: Of those whose account is not known.
    address: str = ""

    @property
    def places(self) -> tuple[tuple[tuple[str, str], int], ...]:
        """What it has to have a place of, one after the other, and how many of each there are."""
        of_address = ((self.address, "anybody"), PLACES_OF_ANYBODY)
        if self.caller == self.address:
            return (of_address,)
        of_caller = ((self.caller, self.kind), PLACES[self.kind])
        return (of_caller, of_address) if self.address else (of_caller,)


#: Requests at a time, by kind: those about tasks, other ones, and those with a large body.
PLACES = {"task": 1, "page": 3, "large": 3}
#: The same of those who did not sign in, by address. Behind a proxy they have all the same.
PLACES_OF_ANYBODY = 6

_accounts: OrderedDict[str, str] = OrderedDict()


def slot_of(request: Any, client: Any, *, large: bool = False) -> Slot:
    """Whose `request` this is: the account whose session or token it carries, if that was seen before."""
    headers = dict(request.headers)
    credential = headers.get("AUTHORIZATION", "") or _session_in(headers.get("COOKIE", ""))
    caller = _accounts.get(credential, "") if credential else ""
    kind = "large" if large else "task" if request.path.startswith(HANDED) else "page"
    if caller:
        return Slot(caller, kind, credential)
    address = f"from {client[0] if isinstance(client, tuple) else client}"
    return Slot(f"with {credential}" if credential else address, kind, credential, address)


def _session_in(cookies: str) -> str:
    found = re.search(rf"(?:^|;)\s*{re.escape(settings.SESSION_COOKIE_NAME)}=([^;]*)", cookies)
    return found[1] if found else ""


class Turns:
    """Requests that wait for their turn, in one process; for the thread of its loop alone."""

    def __init__(self) -> None:
        self._running: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._waiting: dict[tuple[str, str], deque[Callable[[], None]]] = {}
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()
        #: Seconds of CPU that an account has saved up, and at what time.
        self._saved: dict[str, tuple[float, float]] = {}

    def take(self, slot: Slot, start: Callable[[], None]) -> None:
        """Call `start` as soon as the caller has room for one request more."""
        (first, of_first), *others = slot.places
        for place, most in others:
            start = partial(self._take, place, most, start)
        self._take(first, of_first, partial(self._start, slot.caller, start))

    def give_back(self, slot: Slot, account: Any = None) -> None:
        """A request is over, which was, as the application says, of this account."""
        if account and slot.credential:
            _accounts[slot.credential] = str(account)
            _accounts.move_to_end(slot.credential)
            if len(_accounts) > REMEMBERED:
                _accounts.popitem(last=False)
        for place, _most in slot.places:
            waiting = self._waiting.get(place)
            if waiting:
                start = waiting.popleft()
                if not waiting:
                    del self._waiting[place]
                self._wait(APART, start) if place[1] == "task" else start()
            else:
                self._running[place] -= 1
                if not self._running[place]:
                    del self._running[place]

    def _take(self, place: tuple[str, str], most: int, start: Callable[[], None]) -> None:
        if self._running[place] < most:
            self._running[place] += 1
            start()
        else:
            self._waiting.setdefault(place, deque()).append(start)

    def charge(self, slot: Slot, seconds: float) -> None:
        """The caller has computed for so many seconds."""
        now = time.monotonic()
        left = max(self._savings(slot.caller, now) - seconds, -LONGEST_DEBT * PACE)
        self._saved[slot.caller] = (left, now)
        if len(self._saved) > REMEMBERED:
            self._saved = {who: row for who, row in self._saved.items() if self._savings(who, now) < SAVED}

    def due(self) -> Iterator[Callable[[], None]]:
        """Those whose time has come."""
        while self._later and self._later[0][0] <= time.monotonic():
            yield heapq.heappop(self._later)[2]

    def seconds_until_next(self, most: float) -> float:
        """For how long nobody is due, `most` at most."""
        return max(min(most, self._later[0][0] - time.monotonic()), 0) if self._later else most

    def _savings(self, caller: str, now: float) -> float:
        left, at = self._saved.get(caller, (SAVED, now))
        return min(left + (now - at) * PACE, SAVED)

    def _start(self, caller: str, start: Callable[[], None]) -> None:
        """Call `start`, now or when the debt of the caller is paid."""
        wait = -self._savings(caller, time.monotonic()) / PACE
        start() if wait <= 0 else self._wait(wait, start)

    def _wait(self, seconds: float, start: Callable[[], None]) -> None:
        heapq.heappush(self._later, (time.monotonic() + seconds, next(self._number), start))
