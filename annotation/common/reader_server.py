"""The process that reads users' files: it forks a child for each file, with limits on its resources.

Started by `annotation.common.readers`, without Django, the database and the server's secrets. Each request
comes with two descriptors: one for the child's results, one on which this process reports how it died.
"""

import contextlib
import ctypes
import functools
import importlib
import inspect
import io
import json
import operator
import os
import pickle
import pkgutil
import resource
import select
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from phrasebox.balance import Tally, counted_by

#: Head of a message: its kind, and the number of bytes that follow.
HEAD = struct.Struct("<cI")
ITEMS, VALUE, END, TOO_LARGE, OUT_OF_MEMORY, RAISED, MISTAKE = b"i", b"v", b"z", b"l", b"m", b"e", b"b"
#: A message with the child's counts for the balance sheet.
COUNTED = b"c"
#: Maximum bytes of a message, and approximate bytes of a batch of items.
LARGEST_MESSAGE, _BATCH = 16 * 2**20, 64 * 2**10
#: Values of a message, at most: `[]` takes two bytes of a file, and thirty times as many of memory.
MOST_VALUES = 400_000
#: Why a child died.
MEMORY, TIME, CRASH = "memory", "time", "crash"
#: Seconds without work after which a server ends, and seconds between two checks of children's resources.
IDLE, _LOOK = 120.0, 0.2
#: Maximum open files of a child, bytes that it may write into one, and seconds of CPU in all.
_OPEN_FILES, _WRITTEN, _SECONDS_IN_ALL = 256, 8 * 2**30, 3600
#: Niceness of readers, below those that serve pages.
_NICE = 5
#: Our packages: their exceptions are results, all others are bugs.
OUR_PACKAGES = ("annotation", "evaluation", "models_core", "phrasebox")
_NEW_USER, _NEW_NETWORK, _DIE_WITH_PARENT = 0x10000000, 0x40000000, 1
_FAILED_ALLOCATION = ("allocate memory", "not enough memory", "out of memory", "malloc of size")


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum bytes of a reader's memory, and seconds without output."""

    memory: int
    seconds: int


def serve(control: socket.socket) -> None:
    """Fork a child for every request, until the other side ends, or sends nothing for a while."""
    control.sendall(b"1" if _leave_network() else b"0")
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    children: dict[int, tuple[int, Limits]] = {}
    killed: set[int] = set()
    ending = False
    while children or not ending:
        listening: list[Any] = [wake] if ending else [control, wake]
        ready, _, _ = select.select(listening, [], [], _LOOK if children else IDLE)
        if wake in ready:
            os.read(wake, 4096)
        if not children and not ready:
            control.shutdown(socket.SHUT_RD)  # earlier requests are still processed
        if control in ready:
            data, descriptors, _, _ = socket.recv_fds(control, 4096, 2)
            if not data:
                ending = True
                continue
            answer, status = descriptors
            request = json.loads(data)
            limits = Limits(**request["limits"])
            children[_start(control, request["modules"], limits, answer, status)] = status, limits
        for pid, (_status, limits) in children.items():
            if _resident(pid) > limits.memory:
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)
        _reap(children, killed)


def _start(control: socket.socket, modules: list[str], limits: Limits, answer: int, status: int) -> int:
    for module in modules:
        with contextlib.suppress(Exception):  # the child gets the same error, and reports it
            pkgutil.resolve_name(module)  # once, not in every child
    pid = os.fork()
    if pid:
        os.close(answer)
        return pid
    try:
        signal.set_wakeup_fd(-1)
        control.close()
        os.close(status)
        _child(socket.socket(fileno=answer), limits)
    finally:
        os._exit(0)


def _reap(children: dict[int, tuple[int, Limits]], killed: set[int]) -> None:
    """Report how ended children ended."""
    for pid in list(children):
        ended, how = os.waitpid(pid, os.WNOHANG)
        if not ended:
            continue
        status, _ = children.pop(pid)
        number = os.WTERMSIG(how) if os.WIFSIGNALED(how) else 0
        reason = TIME if number in (signal.SIGALRM, signal.SIGXCPU) else CRASH
        if pid in killed or number == signal.SIGKILL:  # by us, or by a system that is short of memory
            reason = MEMORY
        killed.discard(pid)
        with contextlib.suppress(OSError):
            os.write(status, f"{reason} {number}".encode())
        os.close(status)


def _resident(pid: int) -> int:
    """Return the bytes of a process's own memory; 0 if unknown."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * resource.getpagesize()


def _leave_network() -> bool:
    """Enter a network namespace without connections; return whether the system permits it."""
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if library.unshare(_NEW_NETWORK) == 0:
        return True
    if library.unshare(_NEW_USER | _NEW_NETWORK) != 0:
        return False
    with contextlib.suppress(OSError):  # so that files still belong to their owners
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    return True


class _TooLarge(Exception):
    """A part of a file exceeds a message."""


class _Answer:
    """Sends a child's results, with a limit on the time between them."""

    def __init__(self, connection: socket.socket, limits: Limits) -> None:
        self._connection, self._seconds = connection, limits.seconds
        self._rearm()

    def send(self, kind: bytes, data: bytes = b"") -> None:
        if len(data) > LARGEST_MESSAGE:
            raise _TooLarge
        signal.setitimer(signal.ITIMER_REAL, 0)  # the recipient may be slow
        self._connection.sendall(HEAD.pack(kind, len(data)) + data)
        self._rearm()

    def _rearm(self) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        computed = int(used.ru_utime + used.ru_stime)
        _limit(resource.RLIMIT_CPU, min(computed + self._seconds, _SECONDS_IN_ALL))
        # With other computations, it may take twice as long.
        signal.setitimer(signal.ITIMER_REAL, 2 * self._seconds)


def _child(connection: socket.socket, limits: Limits) -> None:
    """Process one request."""
    os.nice(_NICE)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    (length,) = struct.unpack("<Q", receive(connection, 8))
    folder, module, name, args = pickle.loads(receive(connection, length))
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _limit(resource.RLIMIT_FSIZE, _WRITTEN)
    _limit(resource.RLIMIT_DATA, limits.memory)
    answer, tally = _Answer(connection, limits), Tally()
    try:
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
        with counted_by(tally):
            result = function(*args)
            items = inspect.isgenerator(result) or isinstance(result, Iterator)
            if items:
                _send_items(result, answer)
        if not items and _values(result) > MOST_VALUES:
            raise _TooLarge
        value = (END,) if items else (VALUE, _packed(result))
        answer.send(COUNTED, pickle.dumps(tally.counts(), 5))
        answer.send(*value)
    except _TooLarge:
        answer.send(TOO_LARGE)
    except Exception as error:
        message = _described(error)
        if message[0] == RAISED:
            answer.send(COUNTED, pickle.dumps(tally.counts(), 5))
        answer.send(*message)


def _send_items(items: Iterator[Any], answer: _Answer) -> None:
    """Send items in batches of about the same size in bytes."""
    batch: list[Any] = []
    number = 1
    for item in items:
        batch.append(item)
        if len(batch) >= number:
            size = _send_batch(batch, answer)
            batch = []
            number = max(1, number * 2 if size < _BATCH else number * _BATCH // size)
    if batch:
        _send_batch(batch, answer)


def _send_batch(batch: list[Any], answer: _Answer) -> int:
    """Send items, split if they are too large together; return their bytes."""
    data = _packed(batch)
    if len(data) > LARGEST_MESSAGE or (len(data) > 2 * _BATCH and _values(batch) > MOST_VALUES):
        if len(batch) == 1:
            raise _TooLarge
        middle = len(batch) // 2
        return _send_batch(batch[:middle], answer) + _send_batch(batch[middle:], answer)
    answer.send(ITEMS, data)
    return len(data)


class _Pickler(pickle.Pickler):
    """Reduces frozen dataclasses to their fields in order, which takes half as long as their own way."""

    def reducer_override(self, value: Any) -> Any:
        fields_of = _fields_in_order(type(value))  # type: ignore[arg-type]
        return NotImplemented if fields_of is None else (type(value), fields_of(value))


@functools.cache
def _fields_in_order(kind: type) -> Callable[[Any], tuple[Any, ...]] | None:
    """Return a function for the arguments of the constructor; None if it takes others."""
    if not is_dataclass(kind) or not kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return None
    of_constructor = [field for field in fields(kind) if field.init]
    if len(of_constructor) < 2 or any(field.kw_only for field in of_constructor):
        return None
    return operator.attrgetter(*(field.name for field in of_constructor))


def _packed(data: Any) -> bytes:
    out = io.BytesIO()
    _Pickler(out, 5).dump(data)
    return out.getvalue()


def _values(data: Any) -> int:
    """How many values data consist of; not counted further once they are too many. An array is one."""
    waiting, number = [data], 0
    while waiting and number <= MOST_VALUES:
        value = waiting.pop()
        number += 1
        if isinstance(value, (list, tuple, set, frozenset)):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value)
            waiting.extend(value.values())
        elif is_dataclass(value):
            waiting.extend(getattr(value, field.name) for field in fields(value))
    return number


def _described(error: Exception) -> tuple[bytes, bytes]:
    """Return the message of an error."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError) or any(words in str(cause) for words in _FAILED_ALLOCATION):
            return OUT_OF_MEMORY, b""
        cause = cause.__cause__ or cause.__context__
    kind = type(error)
    if kind.__module__.partition(".")[0] in OUR_PACKAGES:
        with contextlib.suppress(Exception):
            return RAISED, pickle.dumps((kind.__module__, kind.__qualname__, error.args, vars(error)), 5)
    text = (str(error).splitlines() or [""])[0][:120]
    message = f"{kind.__name__}: {text}" if text else kind.__name__
    trace = "".join(traceback.format_exception(error))[-8000:]
    return MISTAKE, json.dumps([message, trace]).encode()


def receive(connection: socket.socket, length: int) -> bytes:
    """Return `length` bytes. Raises EOFError if the other side ends before."""
    data = io.BytesIO()
    while length:
        part = connection.recv(min(length, 2**20))
        if not part:
            raise EOFError
        data.write(part)
        length -= len(part)
    return data.getvalue()


def _limit(what: int, most: int) -> None:
    """Set a soft limit, up to the hard one."""
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, hard))


if __name__ == "__main__":
    # pyarrow would import it in every child, where it is installed; no reader needs it.
    sys.modules["pandas"] = None  # type: ignore[assignment]
    serve(socket.socket(fileno=int(sys.argv[1])))
