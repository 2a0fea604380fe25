"""The memory that this process may still use, and one-line errors for work that needs more."""

import resource
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from phrasebox.errors import PhraseboxError

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_GIB = 2.0**30


class NotEnoughMemory(PhraseboxError):
    """The work needs more memory than there is; the message is one line that says what would fit."""


def available_memory() -> int | None:
    """Return the bytes that this process may still use: the minimum of what its limits (`ulimit -v`, `ulimit
    -d`), its control group and the machine leave. None if none of them can be read."""
    status = _fields(_PROC / "self/status")
    known = []
    for limit, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY and used in status:
            known.append(soft - status[used])
    if (available := _fields(_PROC / "meminfo").get("MemAvailable")) is not None:
        known.append(available)
    known += _left_in_groups()
    return max(0, min(known)) if known else None


def _left_in_groups() -> Iterator[int]:
    """Yield the bytes that the process's control group, and each group that contains it, leave."""
    try:
        lines = (_PROC / "self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        names = (
            ("memory.max", "memory.current")
            if not controllers
            else (
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
            )
        )
        root = _CGROUPS / "memory" if controllers else _CGROUPS
        folder = root / path.lstrip("/")
        for group in (folder, *folder.parents):
            limit, used = (_number(group / name) for name in names)
            if limit is not None and used is not None:
                # The system frees pages of files that were read if memory gets short.
                yield limit - used + _fields(group / "memory.stat").get("inactive_file", 0)
            if group == root:
                break


def _fields(file: Path) -> dict[str, int]:
    """Return the fields of lines such as "VmSize: 12 kB", in bytes; those without a number are left out."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return {}
    words = [line.replace(":", " ").split() for line in lines]
    return {
        words_of_line[0]: int(words_of_line[1]) * (1024 if words_of_line[2:] == ["kB"] else 1)
        for words_of_line in words
        if len(words_of_line) > 1 and words_of_line[1].isdigit()
    }


def _number(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def check_memory(
    what: str, bytes_of: Callable[[Mapping[str, int]], float], amounts: Mapping[str, int]
) -> None:
    """Raise NotEnoughMemory if `what` needs more memory than there is; the message says what would fit.

    `bytes_of` returns the bytes needed for amounts by name, such as {"training images": 6000}; it must not
    decrease as an amount grows. For each amount, the message says how much of it would fit with the others
    unchanged.
    """
    available = available_memory()
    needed = bytes_of(amounts)
    if available is None or needed <= available:
        return

    def with_only(name: str, some: int) -> float:
        return bytes_of({**amounts, name: some})

    fitting = [
        f"{name}: {least:,} instead of {amount:,}"
        for name, amount in amounts.items()
        if (least := _fitting(partial(with_only, name), amount, available))
    ]
    remedy = "give it more memory"
    if fitting:
        remedy = f"it would fit with {' or with '.join(fitting)}"
    elif share := _fitting(lambda some: bytes_of(_thousandths(amounts, some)), 1000, available):
        fewer = [
            f"{name}: {_thousandths(amounts, share)[name]:,} instead of {amount:,}"
            for name, amount in amounts.items()
            if bytes_of({**amounts, name: amount // 2}) < needed
        ]
        remedy = f"give it more memory, or all of {', '.join(fewer)}"
    raise NotEnoughMemory(
        f"{what} needs about {needed / _GIB:.2g} GiB of memory, and {available / _GIB:.2g} GiB are left; "
        f"{remedy}"
    )


def _fitting(bytes_of: Callable[[int], float], amount: int, available: int) -> int:
    """Return how much of `amount` fits, to a thousandth; 0 if nothing does. The whole amount does not fit."""
    least, most = 0, amount
    while most - least > max(1, amount // 1000):
        middle = (least + most) // 2
        if bytes_of(middle) <= available:
            least = middle
        else:
            most = middle
    return least


def _thousandths(amounts: Mapping[str, int], share: int) -> dict[str, int]:
    return {name: amount * share // 1000 for name, amount in amounts.items()}


#: Messages of numpy, torch, the loader and the system for failed allocations, mappings or threads.
_FAILED_ALLOCATION = (
    "not enough memory",
    "out of memory",
    "t allocate memory",
    "annot allocate memory",
    "failed to map segment",
    "t start new thread",
)


@contextmanager
def memory_errors(what: str) -> Iterator[None]:
    """Turn failed allocations of Python, numpy, torch or the system into NotEnoughMemory, with a one-line
    message.

    All commands and jobs begin with it.
    """
    try:
        yield
    except MemoryError as error:
        raise NotEnoughMemory(_out_of_memory(what, str(error))) from error
    except (RuntimeError, OSError, ImportError) as error:
        if not any(words in str(error) for words in _FAILED_ALLOCATION):
            raise
        raise NotEnoughMemory(_out_of_memory(what, str(error))) from error


def _out_of_memory(what: str, reason: str) -> str:
    because = f" ({reason.splitlines()[0].rstrip('.')})" if reason else ""
    left = available_memory()
    lacking = "" if left is None else f", and {left / _GIB:.2g} GiB are left"
    return f"{what} ran out of memory{because}{lacking}; give it more memory, or less to work on"
