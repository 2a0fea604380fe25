"""Limits on the requests and the CPU of each caller, in each process.

A worker answers one question at a time, so requests about tasks of an account run one after the other, APART
seconds apart if several arrive together. Pages and pictures load on a few connections. A caller that uses
more CPU than PACE waits, at most LONGEST_DEBT seconds.
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

#: WSGI key under which the application stores the number of the calling account, under "account".
CALLER = "phrasebox.caller"
#: Seconds of CPU per second that an account may use in each process; how many it may save up; and for how
#: many seconds it waits at most after using more.
PACE, SAVED, LONGEST_DEBT = 0.15, 1.0, 2.0
#: Seconds between two requests about tasks of an account that sends several at a time.
APART = 0.1
#: Number of cached accounts of sessions and tokens.
REMEMBERED = 4096


class RequestSlot(NamedTuple):
    """The caller of a request: an account, a session or token not seen before, or an address."""

    caller: str
    kind: str
    credential: str = ""
    #: The address of a caller whose account is not known.
    address: str = ""

    @property
    def limits(self) -> tuple[tuple[tuple[str, str], int], ...]:
        """The limits that count the request, each as a key and the number of requests at a time."""
        of_address = ((self.address, "anybody"), ANONYMOUS_LIMIT)
        if self.caller == self.address:
            return (of_address,)
        of_caller = ((self.caller, self.kind), LIMITS[self.kind])
        return (of_caller, of_address) if self.address else (of_caller,)


#: Requests at a time, by kind: those about tasks, other ones, and those with a large body.
LIMITS = {"task": 1, "page": 3, "large": 3}
#: Requests at a time from one address without a sign-in. Behind a proxy all have the same address.
ANONYMOUS_LIMIT = 6

_accounts: OrderedDict[str, str] = OrderedDict()


def slot_of(request: Any, client: Any, *, large: bool = False) -> RequestSlot:
    """Return the caller of `request`: the account of its session or token, if that was seen before."""
    headers = dict(request.headers)
    credential = headers.get("AUTHORIZATION", "") or _session_in(headers.get("COOKIE", ""))
    caller = _accounts.get(credential, "") if credential else ""
    kind = "large" if large else "task" if request.path.startswith(HANDED) else "page"
    if caller:
        return RequestSlot(caller, kind, credential)
    address = f"from {client[0] if isinstance(client, tuple) else client}"
    return RequestSlot(f"with {credential}" if credential else address, kind, credential, address)


def remember_account(credential: str, account: Any) -> None:
    """Remember the account of a session or token; `account` is what the application saw, or nothing."""
    if account and credential:
        _accounts[credential] = str(account)
        _accounts.move_to_end(credential)
        if len(_accounts) > REMEMBERED:
            _accounts.popitem(last=False)


def _session_in(cookies: str) -> str:
    match = re.search(rf"(?:^|;)\s*{re.escape(settings.SESSION_COOKIE_NAME)}=([^;]*)", cookies)
    return match[1] if match else ""


class RequestLimits:
    """The requests of one process that wait for a limit; used only by the thread of its loop."""

    def __init__(self) -> None:
        self._running: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._waiting: dict[tuple[str, str], deque[Callable[[], None]]] = {}
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()
        #: An account's saved seconds of CPU, and the time of this value.
        self._saved: dict[str, tuple[float, float]] = {}

    def take(self, slot: RequestSlot, start: Callable[[], None]) -> None:
        """Call `start` as soon as the limits of the caller allow one more request."""
        (first, of_first), *others = slot.limits
        for key, most in others:
            start = partial(self._take, key, most, start)
        self._take(first, of_first, partial(self._start, slot.caller, start))

    def give_back(self, slot: RequestSlot) -> None:
        """End a request."""
        for key, _limit in slot.limits:
            waiting = self._waiting.get(key)
            if waiting:
                start = waiting.popleft()
                if not waiting:
                    del self._waiting[key]
                self._wait(APART, start) if key[1] == "task" else start()
            else:
                self._running[key] -= 1
                if not self._running[key]:
                    del self._running[key]

    def _take(self, key: tuple[str, str], most: int, start: Callable[[], None]) -> None:
        if self._running[key] < most:
            self._running[key] += 1
            start()
        else:
            self._waiting.setdefault(key, deque()).append(start)

    def charge(self, slot: RequestSlot, seconds: float) -> None:
        """Subtract `seconds` of CPU from what the caller has saved."""
        now = time.monotonic()
        left = max(self._savings(slot.caller, now) - seconds, -LONGEST_DEBT * PACE)
        self._saved[slot.caller] = (left, now)
        if len(self._saved) > REMEMBERED:
            self._saved = {who: row for who, row in self._saved.items() if self._savings(who, now) < SAVED}

    def due(self) -> Iterator[Callable[[], None]]:
        """Yield the delayed starts that are due."""
        while self._later and self._later[0][0] <= time.monotonic():
            yield heapq.heappop(self._later)[2]

    def seconds_until_next(self, most: float) -> float:
        """Return the seconds until the next delayed start, at most `most`."""
        return max(min(most, self._later[0][0] - time.monotonic()), 0) if self._later else most

    def _savings(self, caller: str, now: float) -> float:
        left, at = self._saved.get(caller, (SAVED, now))
        return min(left + (now - at) * PACE, SAVED)

    def _start(self, caller: str, start: Callable[[], None]) -> None:
        """Call `start` now, or once the caller has saved CPU again."""
        wait = -self._savings(caller, time.monotonic()) / PACE
        start() if wait <= 0 else self._wait(wait, start)

    def _wait(self, seconds: float, start: Callable[[], None]) -> None:
        heapq.heappush(self._later, (time.monotonic() + seconds, next(self._number), start))
