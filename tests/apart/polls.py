"""The responses of every address that a worker may open about an item: while it is leased, after its answer,
and later.

A poll is a whole response as numbers: status, size, headers, and the words of its text with names masked. A
learner gets these, the changes since the previous poll, and the differences from those of the previous item,
of its kind and about its image, by the same worker.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from django.urls import reverse

from annotation.protocol.kinds import kind_of
from tests.apart.features import Numbers, changes

if TYPE_CHECKING:
    from tests.apart.watcher import Watcher

#: Times of polls: while the item is leased, directly after its answer, after a number of later answers of its
#: kind, and when the time for changing an answer is over.
HELD, AT_ONCE, LATE = "held", "at once", "late"
LATER = (2, 3, 5)
MOMENTS = (HELD, AT_ONCE, *(f"{number} later" for number in LATER), LATE)
#: The time at which the previous item is polled simultaneously.
AT_THE_SAME_TIME = {"2 later": "3 later"}
#: Words are counted in this number of hash buckets.
HEAPS = 16
#: One of this number of items is polled at the addresses that are not about answers.
SELDOM = 60
#: Names of things, sessions and forms: addresses of pictures, long words, names of images, numbers.
_NAMES = re.compile(r"/pictures/[^\s\"'<>]+|[A-Za-z0-9_+/=:.-]{20,}|\d+")
_WORDS = re.compile(r"[\w'’]+|[^\w\s]+")


class Response(NamedTuple):
    """A received response, and its seconds; None if it was not timed."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Poll:
    """A response as numbers, and its text without names."""

    numbers: Numbers
    text: int

    @classmethod
    def of(cls, response: Response) -> Poll:
        """Return the poll of a response. A picture's bytes are no words."""
        headers = {name.lower(): value for name, value in response.headers.items()}
        body = b"" if headers.get("content-type", "").startswith("image/") else response.body
        text = _NAMES.sub("0", body.decode("utf-8", "replace"))
        words = _WORDS.findall(text)
        heaps = Counter(f"heap {crc32(word.encode()) % HEAPS}" for word in words)
        numbers: Numbers = {"status": response.status, "size": len(response.body), "words": len(words)}
        # Texts are as long as their captions; what is between words belongs to the page.
        numbers["between words"] = len(text) - sum(map(len, words)) - len(words)
        numbers |= {heap: float(times) for heap, times in heaps.items()}
        for name, value in headers.items():
            numbers[f"header {name}"] = float(value) if value.isdecimal() else float(len(value))
        if response.seconds is not None:
            numbers["seconds"] = response.seconds
        return cls(numbers, crc32(text.encode()))

    def since(self, before: Poll, name: str) -> Numbers:
        """Return the differences from an earlier poll."""
        return changes(before.numbers, self.numbers, name) | {f"{name} text": self.text != before.text}


@dataclass(slots=True)
class Polls:
    """The polls of one item, by address and time."""

    of: dict[str, dict[str, Poll]] = field(default_factory=dict)

    def add(self, address: str, moment: str, response: Response) -> None:
        """Add a response."""
        self.of.setdefault(address, {})[moment] = Poll.of(response)

    def numbers(self, near: Mapping[str, Polls], *, timing: bool = True) -> Numbers:
        """Return all of it as one row; `near` are the last polls of earlier items, by what they have in
        common."""
        numbers: Numbers = {}
        for address, moments in self.of.items():
            last: Poll | None = None
            for moment in MOMENTS:
                if (poll := moments.get(moment)) is None:
                    continue
                name = f"poll {address}, {moment}"
                numbers |= {f"{name}: {what}": value for what, value in poll.numbers.items()}
                if last is not None:
                    numbers |= poll.since(last, f"{name}, since the last:")
                for common, polls in near.items():
                    for when in (moment, AT_THE_SAME_TIME.get(moment, "")):
                        if (beside := polls.of.get(address, {}).get(when)) is not None:
                            numbers |= poll.since(beside, f"{name}, beside the last of its {common}, {when}:")
                last = poll
        return {name: value for name, value in numbers.items() if timing or not name.endswith("seconds")}

    def update(self, polls: Polls) -> None:
        """Add the polls of a later item."""
        for address, moments in polls.of.items():
            self.of[address] = self.of.get(address, {}) | moments


class Item(NamedTuple):
    """A polled item: its assignment and kind, and its answer."""

    id: int
    kind: str
    answer: Mapping[str, Any]


Ask = Callable[["Watcher", Item], Response]
Body = Callable[["Watcher", Item], Mapping[str, Any]]


def _page(route: str, *names: str) -> tuple[str, Ask]:
    """Return a page, or a call that a session reads, by its route and path arguments."""

    def ask(watcher: Watcher, item: Item) -> Response:
        return watcher.open(_address(route, names, watcher, item))

    return route, ask


def _call(route: str, *names: str, body: Body | None = None, also: str = "") -> tuple[str, Ask]:
    """Return a program's call: POST if it has a body. `also` distinguishes several of one route."""

    def ask(watcher: Watcher, item: Item) -> Response:
        address = _address(route, names, watcher, item)
        data = None if body is None else body(watcher, item)
        return watcher.call("GET" if body is None else "POST", address, data)

    return f"{'' if body is None else 'POST '}{route}{also}", ask


def _address(route: str, names: Sequence[str], watcher: Watcher, item: Item) -> str:
    values = {"campaign": watcher.campaign.name, "kind": item.kind, "assignment": item.id}
    return reverse(route, args=[values.get(name, name) for name in names])


def _of_kind(watcher: Watcher, item: Item) -> dict[str, Any]:
    return {"campaign": watcher.campaign.name, "kind": item.kind}


def _nothing(watcher: Watcher, item: Item) -> dict[str, Any]:
    return {}


def _said(**more: Any) -> Body:
    return lambda watcher, item: {**item.answer, "token": f"t{item.id}", "next": False, **more}


def _picture(watcher: Watcher, item: Item) -> Response:
    return watcher.call("GET", watcher.picture)


def _test(watcher: Watcher, item: Item) -> Response:
    return watcher.send(_address("task_test", ("campaign", "kind"), watcher, item), {})


def _form(watcher: Watcher, item: Item) -> Response:
    """Send an empty form: it stores nothing, and is returned."""
    address = _address("task_answer_again", ("campaign", "kind", "assignment"), watcher, item)
    return watcher.send(address, {})


class PollPlan(NamedTuple):
    """What is polled about an item; items take the plans in turn, since each poll takes time.

    `held`: requests by route while the item is leased. `after`: as soon as it is answered. `later`:
    `OF_ANSWERS` at every later time. `listed`: the list of tasks before, during and after the lease.
    `altered`: the answer is changed, and changed back.
    """

    held: Mapping[str, Ask] = {}
    after: Mapping[str, Ask] = {}
    later: bool = False
    listed: bool = False
    altered: bool = False


#: Requests about an answer by route.
OF_ANSWERS = dict(
    [
        _page("task_answer_again", "campaign", "kind", "assignment"),
        _call("api_change", "assignment", body=lambda watcher, item: item.answer),
    ]
)
_HEARTBEAT = _call("api_heartbeat", "assignment", body=_nothing)
#: Two adjacent items are polled, so that they can be compared at the same time.
POLL_PLANS = (
    PollPlan(later=True),
    PollPlan(later=True),
    PollPlan(held=dict([_page("task", "campaign", "kind")])),
    PollPlan(held=dict([_HEARTBEAT, ("picture", _picture)]), listed=True),
    PollPlan(
        after=dict(
            [
                _call("api_answer", "assignment", body=_said()),
                _call("api_answer", "assignment", body=_said(token="another"), also=" again"),
                _call("api_return", "assignment", body=_nothing),
                _HEARTBEAT,
            ]
        ),
        altered=True,
    ),
    PollPlan(after=dict([_page("tasks"), _call("api_tasks")])),
    PollPlan(
        after=dict([_page("task_answers", "campaign", "kind"), _call("api_recent_answers", body=_of_kind)])
    ),
    PollPlan(after={"POST task_answer_again": _form}),
)
#: Occasional requests by route: their content is not only about this answer.
NOW_AND_THEN = dict(
    [
        *(_page(route) for route in ("earnings", "visit", "home", "account", "own_answers")),
        *(_page(route) for route in ("password_change", "set_up_second_factor", "operation_list")),
        *(_page(route) for route in ("v1_me", "v1_list_earnings", "v1_list_received_messages", "v1_tokens")),
        *(_page(route) for route in ("v1_protocol", "invite_begun")),
        _page("documentation", "index.html"),
        _page("task_consent", "campaign"),
        _page("task_country", "campaign"),
        _page("task_instructions", "campaign", "kind"),
        _page("task_practice", "campaign", "kind"),
        _call("api_consent", "campaign"),
        _call("api_test", body=_of_kind),
        _call("api_spelling", body=lambda watcher, item: {"text": "Two dgos run."}),
        ("POST task_test", _test),
    ]
)
#: Calls that are no poll: a watcher makes them to work.
WORK = ("POST api_next", "POST api_answer", "POST task", "POST task_instructions")


def other_answer(item: Item) -> dict[str, Any] | None:
    """Return another answer to the same question, of a single word; None if there is none."""
    words = [word for word in kind_of(item.kind).answers if word not in kind_of(item.kind).with_content]
    others = [word for word in words if word not in (item.answer["answer"], "drawn")]
    return {"answer": others[0]} if others else None
