"""The readers of this process: started with the first file, ended with the process, or when idle."""

import json
import logging
import os
import pickle
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from django.conf import settings
from django.template.defaultfilters import filesizeformat

from annotation.common import reader_server as server
from annotation.common.readers.answers import UnexpectedAnswer, read_answer, read_error
from phrasebox.balance import current_tally
from phrasebox.text_files import FormatError

_T = TypeVar("_T")
_log = logging.getLogger(__name__)

#: Minimum bytes of the files of a large request.
LARGE = 4 * 2**20
#: Number of readers of small files, and of large ones, that one process has at a time.
_SMALL_AT_ONCE, _LARGE_AT_ONCE = 2, 2
#: What is imported before a reader is forked, besides the function's module: by the suffix of a file's name,
#: and for readers of corpora, which choose among all formats.
_LIBRARIES = {
    ".parquet": ("pyarrow.parquet", "pyarrow.compute"),
    ".h5": ("h5py",),
    ".hdf5": ("h5py",),
}
_FORMATS = ("annotation.formats", "annotation.formats:FORMATS")
#: Maximum seconds that a file waits for a reader.
_LONGEST_WAIT = 60.0


class _Pool:
    """The process that forks readers, and how many it may have at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.offline = False
        self.slots = {
            False: threading.BoundedSemaphore(_SMALL_AT_ONCE),
            True: threading.BoundedSemaphore(_LARGE_AT_ONCE),
        }

    def ask(self, modules: Sequence[str], limits: server.Limits) -> tuple[socket.socket, int]:
        """Return the connection to a new reader, and the descriptor on which its death is reported."""
        ours, theirs = socket.socketpair()
        status, says = os.pipe()
        request = {"modules": modules, "limits": {"memory": limits.memory, "seconds": limits.seconds}}
        try:
            with self._lock:
                for again in (True, False):
                    control = self._started()
                    try:
                        socket.send_fds(control, [json.dumps(request).encode()], [theirs.fileno(), says])
                        break
                    except OSError:  # it was idle, and ended
                        self._stop()
                        if not again:
                            raise
        except BaseException:
            ours.close()
            os.close(status)
            raise
        finally:
            theirs.close()
            os.close(says)
        return ours, status

    def _started(self) -> socket.socket:
        if self._process is not None and self._process.poll() is not None:
            self._stop()
        if self._control is None:
            ours, theirs = socket.socketpair()
            environment = dict(settings.READER_ENVIRONMENT)
            # One thread: a process that forks must have no others.
            environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
            environment |= {
                "ARROW_DEFAULT_MEMORY_POOL": "system",
                "JE_ARROW_MALLOC_CONF": "background_thread:false",
            }
            environment["PYTHONPATH"] = os.pathsep.join([str(settings.BASE_DIR), *filter(None, sys.path)])
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", server.__name__, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=settings.BASE_DIR,
                    env=environment,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # Ctrl-C is for the parent process
                )
            self._control, self.offline = ours, ours.recv(1) == b"1"
        return self._control

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
        self._control = self._process = None


_pool = _Pool()


def _forget() -> None:
    """A forked process has readers of its own, and drops those of its parent."""
    global _pool
    if _pool._control is not None:
        _pool._control.close()
    _pool = _Pool()


os.register_at_fork(after_in_child=_forget)


def readers_have_no_network() -> bool:
    """Return whether the system permits us to isolate readers from the network."""
    trial = _Pool()
    try:
        trial._started()
        return trial.offline
    finally:
        trial._stop()


def read(function: Callable[..., _T], *arguments: Any) -> _T:
    """Return `function(*arguments)`, called by a reader. Raises as it does, and FormatError."""
    with _reader(cast(Any, function), arguments) as answers:
        for kind, data in answers:
            if kind == server.VALUE:
                return cast(_T, _understood(data, arguments))
        raise AssertionError("a reader ended without a value")


def stream(function: Callable[..., Iterator[_T]], *arguments: Any) -> Generator[_T, None, None]:
    """Yield the items of `function(*arguments)`, called by a reader. Raises as it does, and FormatError."""
    with _reader(cast(Any, function), arguments) as answers:
        for kind, data in answers:
            if kind == server.ITEMS:
                yield from _understood(data, arguments)


def _understood(data: bytes, arguments: tuple[Any, ...]) -> Any:
    try:
        return read_answer(data)
    except UnexpectedAnswer as error:
        _log.error("a reader was told what to say: %s", error)
        _refuse(server.CRASH, _files(arguments)[0], _limits())


@contextmanager
def _reader(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> Iterator[Iterator[tuple[bytes, bytes]]]:
    """Yield the messages of a reader to its end."""
    files, limits = _files(arguments), _limits()
    file, large = files[0], sum(map(_size, files)) > LARGE
    slot = _pool.slots[large]
    if not slot.acquire(timeout=_LONGEST_WAIT):
        raise FormatError("waits while other files are read", file=file, expected="another try in a minute")
    try:
        connection, status = _pool.ask([function.__module__, *_libraries(function, files)], limits)
        try:
            connection.settimeout(3.0 * limits.seconds)
            call = pickle.dumps((os.getcwd(), function.__module__, function.__qualname__, arguments), 5)
            with suppress(BrokenPipeError, ConnectionResetError):  # its end is reported below
                connection.sendall(struct.pack("<Q", len(call)) + call)
            yield _messages(connection, status, file, limits)
        finally:
            connection.close()
            os.close(status)
    finally:
        slot.release()


def _messages(
    connection: socket.socket, status: int, file: Path, limits: server.Limits
) -> Iterator[tuple[bytes, bytes]]:
    while True:
        try:
            kind, length = server.HEAD.unpack(server.receive(connection, server.HEAD.size))
            data = server.receive(connection, min(length, server.LARGEST_MESSAGE + 1))
        except TimeoutError:
            _refuse(server.TIME, file, limits)
        except (EOFError, ConnectionResetError):
            reason, _, signal = os.read(status, 100).decode().partition(" ")
            _log.warning("the reader of %s died: %s, signal %s", file, reason or "unknown", signal or "none")
            _refuse(reason or server.CRASH, file, limits)
        match kind:
            case server.END:
                return
            case server.TOO_LARGE:
                size = filesizeformat(server.LARGEST_MESSAGE).replace("\xa0", " ")
                problem = f"holds an entry of more than {size} or {server.MOST_VALUES:,} values"
                raise FormatError(problem, file=file, expected="smaller entries")
            case server.OUT_OF_MEMORY:
                _refuse(server.MEMORY, file, limits)
            case server.COUNTED:
                current_tally().merge(_understood(data, (file,)))
                continue
            case server.RAISED:
                raise _error(data, file, limits)
            case server.MISTAKE:
                message, trace = json.loads(data)
                _log.warning("a reader could not read %s: %s", file, trace)
                raise FormatError(f"cannot be read ({message})", file=file, expected="a complete file")
        yield kind, data


def _error(data: bytes, file: Path, limits: server.Limits) -> Exception:
    try:
        return read_error(data)
    except UnexpectedAnswer:
        _refuse(server.CRASH, file, limits)


def _refuse(reason: str, file: Path, limits: server.Limits) -> NoReturn:
    problem, remedy = {
        server.MEMORY: (
            f"needs more than {filesizeformat(limits.memory)} of memory to read".replace("\xa0", " "),
            "a smaller file, or a larger READER_MEMORY (docs/operation.md)",
        ),
        server.TIME: (
            f"needs more than {limits.seconds} seconds to read",
            "a smaller file, or a larger READER_SECONDS (docs/operation.md)",
        ),
        server.CRASH: ("cannot be read: it ends the program that reads it", "a complete file"),
    }[reason]
    raise FormatError(problem, file=file, expected=remedy)


def _libraries(function: Callable[..., Any], files: Iterable[Path]) -> list[str]:
    """Return what a call of `function` for these files needs, and takes long to import."""
    package, formats = _FORMATS
    names = [name for file in files for name in _LIBRARIES.get(file.suffix.lower(), ())]
    return [*names, formats] if function.__module__.startswith(package) else names


def _limits() -> server.Limits:
    return server.Limits(settings.READER_MEMORY * 10**6, settings.READER_SECONDS)


def _files(arguments: tuple[Any, ...]) -> list[Path]:
    """Return the files among arguments."""
    return [part for part in _flat(arguments) if isinstance(part, Path)] or [Path("file")]


def _flat(value: Any) -> Iterator[Any]:
    if is_dataclass(value):
        value = [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
