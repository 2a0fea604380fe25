"""Start processes for tests quickly: fork them from a process that has already imported the libraries.

`start` and `run` replace `subprocess.Popen` and `subprocess.run` for commands of this Python. A fresh Python
spends two seconds of CPU on importing Django, NumPy, SciPy, Numba and Celery. A launcher, `python -m
tests.launcher`, imports them once, and each started process is a fork of it: a separate process, in its own
session, with the given folder, environment, arguments and files. It imports everything that reads them
itself, and can be killed like any other process.

The launcher imports nothing that depends on a process's settings: it has no DJANGO_SETTINGS_MODULE, so such
imports would fail. Of this project it imports only the packages without a framework, and reads the code of
the others without running it. A fresh Python is started if the environment contains variables that the
libraries themselves may read (PYTHONPATH, OMP_NUM_THREADS), or if a test sets `fresh`. A thorough run has two
launchers, which take turns: each has its own hash seed, so that a process that continues a killed one's work
iterates over sets in another order, as it would for an operator.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import IO, Any, NoReturn

from tests import prepare

REPOSITORY = Path(__file__).resolve().parent.parent

#: Libraries that the product imports, and what it imports from them later. None reads settings. matplotlib is
#: not included: it reads its folder from the environment.
LIBRARIES = """
    numpy scipy.sparse scipy.sparse.linalg scipy.linalg scipy.optimize scipy.stats numba safetensors.numpy
    PIL.Image PIL.ImageOps cv2 ijson ijson.backends.yajl2_c defusedxml.ElementTree defusedxml.sax
    HanTa.HanoverTagger Stemmer spellchecker threadpoolctl
    cryptography.fernet cryptography.x509 jwt pyotp segno jinja2 pydantic.dataclasses
    psycopg2.extras redis dj_database_url csp.constants csp.checks csp.apps csp.middleware csp.decorators
    celery.bin.celery celery.bin.worker celery.bin.beat celery.apps.worker celery.apps.beat celery.beat
    celery.worker.worker celery.worker.consumer celery.worker.strategy celery.worker.pidbox
    celery.worker.autoscale celery.concurrency.prefork celery.fixups.django celery.loaders.app
    celery.app.amqp celery.app.control celery.app.events celery.app.log celery.app.task celery.events
    kombu.transport.redis billiard.pool billiard.popen_fork
    gunicorn.app.base gunicorn.arbiter gunicorn.glogging gunicorn.sock gunicorn.workers.gthread
    whitenoise.middleware whitenoise.runserver_nostatic rest_framework rest_framework.apps
    rest_framework.compat rest_framework.fields rest_framework.serializers
    rest_framework.authentication rest_framework.exceptions rest_framework.status
    django.apps.registry django.core.management.commands.migrate django.core.management.commands.shell
    django.core.management.commands.makemigrations
    django.core.cache.backends.locmem django.core.handlers.wsgi django.core.mail.message
    django.core.servers.basehttp django.core.files.storage
    django.db.backends.sqlite3.base django.db.backends.postgresql.base django.db.migrations.executor
    django.db.migrations.autodetector django.db.migrations.writer django.forms django.shortcuts
    django.contrib.auth.apps django.contrib.auth.decorators django.contrib.auth.hashers
    django.contrib.auth.password_validation django.contrib.auth.tokens django.contrib.auth.validators
    django.contrib.contenttypes.apps django.contrib.messages.apps django.contrib.messages.middleware
    django.contrib.messages.context_processors django.contrib.messages.storage.fallback
    django.contrib.postgres.fields django.contrib.postgres.search django.contrib.sessions.apps
    django.contrib.sessions.backends.base django.contrib.sessions.middleware
    django.contrib.staticfiles.apps django.contrib.staticfiles.finders django.contrib.staticfiles.storage
    django.contrib.sites.shortcuts django.middleware.cache django.middleware.clickjacking
    django.middleware.common django.middleware.csrf django.middleware.http django.middleware.locale
    django.middleware.security django.template.context_processors django.template.defaultfilters
    django.template.defaulttags django.template.loader_tags django.template.loaders.app_directories
    django.template.loaders.cached django.templatetags.cache django.templatetags.i18n
    django.templatetags.l10n django.templatetags.static django.templatetags.tz
    django.utils.translation.trans_real django.utils.translation.reloader django.utils.dateformat
    django.views.csrf django.views.debug django.views.decorators.cache django.views.decorators.csrf
    django.views.decorators.clickjacking django.views.decorators.http django.views.defaults
    django.views.generic django.views.i18n
    concurrent.futures.thread multiprocessing.connection multiprocessing.synchronize
    http.client http.server urllib.request logging.config shelve smtplib sqlite3 tarfile tomllib
    unittest.mock zipfile code
""".split()

#: This project's packages that use no framework (pyproject.toml, contract "pure"), and so no settings.
OURS = """
    annotation.protocol annotation.formats annotation.simulation scenes.generate
    annotation.images.metadata phrasebox.registry phrasebox.agreement
    evaluation.comparison.cross_validation evaluation.figures evaluation.formats phrasebox.metrics
    phrasebox.pooling phrasebox.relevance.qrels evaluation.reporting
    phrasebox.significance phrasebox.figure_tables models_core
""".split()

#: Packages whose code is read in advance, but not run.
READ = ("annotation", "config", "evaluation", "models_core", "scenes")

#: Select the kernels of matrix products: other kernels give other last bits.
OF_BLAS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")

#: Variables that a forked process may have: those that only our settings read, and the shell's.
TAKEN = frozenset(
    """
    PATH HOME DATA_DIR DATABASE_URL REDIS_URL PHRASEBOX_ENV SECRET_KEY SITE_URL ALLOWED_HOSTS DEBUG
    STATIC_ROOT DISK_RESERVE UPLOAD_QUOTA CONTACT_EMAIL EMAIL_URL EMAIL_FROM PICTURE_PROXY_PREFIX
    JAVA_HOME METEOR_JAR
    PROLIFIC_API_TOKEN PROLIFIC_JWKS PROLIFIC_SIGNED_LINKS PROLIFIC_WEBHOOK_SECRET
    DJANGO_SETTINGS_MODULE MPLCONFIGDIR NUMBA_CACHE_DIR
    """.split()
    + list(OF_BLAS)
)

#: The variable that names the socket of a launcher which all processes of a run share (`shared`).
SHARED = "PHRASEBOX_TESTS_LAUNCHER"
#: Number of launchers, which take turns: two in a thorough run (`tests/sizes.py` would import too much).
LAUNCHERS = 2 if os.environ.get("PHRASEBOX_THOROUGH") else 1


class LauncherFailed(RuntimeError):
    """The launcher itself has ended."""


class Process:
    """A forked process with the interface of `subprocess.Popen`; its output is text.

    Its id is not reused until its end is known here, so that a signal cannot reach another process.
    """

    def __init__(self, args: Sequence[str], channel: socket.socket, written: list[IO[str] | None]) -> None:
        self.args = list(args)
        self.returncode: int | None = None
        self.stdout, self.stderr = written
        self._channel = channel
        self._lock = threading.Lock()
        first = self._next(None)
        assert first is not None
        self.pid = int(first)

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        if (status := self._ended(timeout)) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return status

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Return the output up to the end of the process, if it was requested."""
        self.wait(timeout)
        return _read(self.stdout), _read(self.stderr)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout: float | None) -> int | None:
        with self._lock:
            if self.returncode is None and (status := self._next(timeout)) is not None:
                self.returncode = int(status)
                self._channel.close()  # now its id may be reused
            return self.returncode

    def _next(self, timeout: float | None) -> str | None:
        """Return the next message: the id, then the status; None if none arrives within `timeout`."""
        if not select.select([self._channel], [], [], timeout)[0]:
            return None
        if not (line := self._channel.recv(64)):
            raise LauncherFailed("the launcher of processes has ended")
        return line.decode()


def start(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path = REPOSITORY,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
    fresh: bool = False,
) -> Process | subprocess.Popen[str]:
    """Start `command` in its own session; its first word is `sys.executable`, then -m, -c or a file.

    A fresh Python is started if `fresh` is set, or if the environment has variables that the libraries read.
    """
    assert command[0] == sys.executable
    if fresh or not sys.platform.startswith("linux") or not TAKEN.issuperset(env):
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": stderr}
        return subprocess.Popen(command, cwd=cwd, env=env, text=True, start_new_session=True, **streams)
    return _next_launcher().start(command, cwd, env, stdout, stderr)


def run(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    timeout: float,
    cwd: Path = REPOSITORY,
    fresh: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run `command` and return its output and exit status; kill it after `timeout` seconds."""
    process = start(command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, fresh=fresh)
    try:
        out, errors = process.communicate(timeout=timeout)
    except BaseException:
        process.kill()
        process.wait()
        raise
    assert process.returncode is not None
    return subprocess.CompletedProcess(list(command), process.returncode, out, errors)


def _read(file: IO[str] | None) -> str:
    """Return the content of a file that another process wrote, and close it."""
    if file is None or file.closed:
        return ""
    with file:
        file.seek(0)
        return file.read()


# The launcher, seen from the tests ---------------------------------------------------------------


def _loaded(line: socket.socket, *options: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start the process of a launcher, which gets its requests by `line`."""
    env = {name: os.environ[name] for name in ("PATH", *OF_BLAS) if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.launcher", str(line.fileno()), *options],
        cwd=REPOSITORY,
        env={**env, "NUMBA_CACHE_DIR": str(prepare.CACHE / "numba")},
        stdin=stdin,
        start_new_session=True,
        pass_fds=[line.fileno()],
    )


@contextlib.contextmanager
def shared(folder: Path) -> Iterator[dict[str, str]]:
    """Run a launcher for all processes of a run; yield the variables by which they find it.

    Loading takes five seconds of CPU. Each process that connects gets a fork, which is a launcher of its own.
    It ends with this process, whose end of a pipe is then closed.
    """
    path = str(folder / "launcher")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        process = _loaded(listener, "shared", stdin=subprocess.PIPE)
    try:
        yield {SHARED: path}
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


class _Launcher:
    """A launcher, which ends with this process."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        if path := os.environ.get(SHARED):
            self._line = socket.socket(socket.AF_UNIX)
            self._line.connect(path)
        else:
            self._line, theirs = socket.socketpair()
            with theirs:
                self.process = _loaded(theirs)
        atexit.register(self.end)

    def start(
        self,
        command: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        stdout: int | IO[bytes] | None,
        stderr: int | IO[bytes] | None,
    ) -> Process:
        channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        message = json.dumps({"args": command[1:], "cwd": str(cwd), "env": dict(env)}).encode()
        with contextlib.ExitStack() as stack:
            stack.enter_context(theirs)
            files: list[int] = []
            written: list[IO[str] | None] = []
            for stream, usual in ((stdout, 1), (stderr, 2)):
                ours = None
                if stream == subprocess.PIPE:
                    # A file takes any amount of output; a pipe that nobody reads would fill up.
                    ours = tempfile.TemporaryFile("w+", encoding="utf-8")
                    files.append(ours.fileno())
                elif stream == subprocess.DEVNULL:
                    files.append(os.open(os.devnull, os.O_WRONLY))
                    stack.callback(os.close, files[-1])
                elif isinstance(stream, int) or stream is None:
                    files.append(usual if stream is None else stream)
                else:
                    files.append(stream.fileno())
                written.append(ours)
            with self._lock:
                length = len(message).to_bytes(4, "big")
                socket.send_fds(self._line, [length], [theirs.fileno(), *files])
                self._line.sendall(message)
        return Process(command, channel, written)

    def end(self) -> None:
        """Close the connection: the launcher then ends the running processes, and itself."""
        self._line.close()
        if self.process is not None:
            self.process.wait()


_launchers: list[_Launcher] = []
_started = 0
_choosing = threading.Lock()


def _next_launcher() -> _Launcher:
    global _started
    with _choosing:
        index = _started % LAUNCHERS
        _started += 1
        if index == len(_launchers):
            _launchers.append(_Launcher())
        return _launchers[index]


# The launcher itself -----------------------------------------------------------------------------


class _Request:
    """A requested process: its arguments, folder, environment and files, and whom to notify."""

    def __init__(self, message: bytes, files: list[int]) -> None:
        fields = json.loads(message)
        self.args: list[str] = fields["args"]
        self.cwd: str = fields["cwd"]
        self.env: dict[str, str] = fields["env"]
        self.channel = socket.socket(fileno=files[0])
        self.files = files[1:]


def _load() -> None:
    """Import everything that each process needs and no process configures."""
    gc.disable()
    for name in LIBRARIES:
        importlib.import_module(name)
    for name in OURS:
        importlib.import_module(name)
    from annotation.formats import FORMATS  # imports all formats

    assert FORMATS.keys()
    _cache_code()
    from django.conf import settings

    assert not settings.configured and threading.active_count() == 1
    gc.collect()
    gc.freeze()  # forks share objects that the collector never visits
    gc.enable()


def _cache_code() -> None:
    """Cache the code of our modules, so that processes do not read the same files again."""
    read = SourceFileLoader.get_code
    code_of: dict[str, types.CodeType | None] = {}
    for package in READ:
        for file in (REPOSITORY / package).rglob("*.py"):
            name = ".".join(file.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
            code_of[str(file)] = read(SourceFileLoader(name, str(file)), name)

    def get_code(self: SourceFileLoader, fullname: str) -> types.CodeType | None:
        code = code_of.get(str(self.path))
        return read(self, fullname) if code is None else code

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


def _serve(line: socket.socket) -> _Request | None:
    """Fork requested processes until the connection is closed; in a forked process, return its request."""
    woken, wake = socket.socketpair()
    for end in (woken, wake):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    living: dict[int, socket.socket] = {}
    over: dict[int, socket.socket] = {}
    while True:
        poll = select.poll()  # new each time: it is not a file that a fork would share
        for end in (line, woken, *over.values()):
            poll.register(end, select.POLLIN)
        ready = {number for number, _ in poll.poll()}
        if woken.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                while woken.recv(4096):
                    pass
            for pid in list(living):
                # Reaped only after the tests know of the end, so that the id is not reused before.
                ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if ended is not None:
                    status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
                    over[pid] = living.pop(pid)
                    with contextlib.suppress(OSError):
                        over[pid].send(str(status).encode())
        for pid in [pid for pid, channel in over.items() if channel.fileno() in ready]:
            over.pop(pid).close()
            os.waitpid(pid, 0)
        if line.fileno() not in ready:
            continue
        request = _received(line)
        if request is None:
            for pid in living:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
            return None
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for end in (line, woken, wake, *living.values(), *over.values()):
                end.close()
            return request
        living[pid] = request.channel
        for file in request.files:
            os.close(file)


def _received(line: socket.socket) -> _Request | None:
    """Return the next request; None if the connection is closed."""
    size = array.array("i").itemsize
    head, ancillary, _, _ = line.recvmsg(4, socket.CMSG_SPACE(8 * size))
    if not head:
        return None
    files = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(data[: len(data) - len(data) % size])
    length, message = int.from_bytes(head, "big"), b""
    while len(message) < length:
        message += line.recv(length - len(message))
    return _Request(message, list(files))


def _become(request: _Request) -> NoReturn:
    """Run a request until its end; Python reports its exceptions."""
    os.setsid()
    for number, file in enumerate(request.files, start=1):
        os.dup2(file, number)
        os.close(file)
    # Set by Python itself, as in a process that started with the same environment.
    locale_settings = {name: value for name, value in os.environ.items() if name == "LC_CTYPE"}
    os.environ.clear()
    os.environ.update({**locale_settings, **request.env})
    os.chdir(request.cwd)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    sys.orig_argv[:] = [sys.executable, *request.args]
    request.channel.send(str(os.getpid()).encode())
    request.channel.close()
    try:
        _run(request)
    except SystemExit as ending:
        if not (ending.code is None or isinstance(ending.code, int)):
            print(ending.code, file=sys.stderr)
        _leave(0 if ending.code is None else ending.code if isinstance(ending.code, int) else 1)
    _leave(0)


def _leave(status: int) -> NoReturn:
    """Exit like Python, but without tearing down modules: that would copy all memory shared by the forks."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status & 0xFF)


def _run(request: _Request) -> None:
    """Run the requested code as the main module."""
    how, *rest = request.args
    if how == "-m":
        sys.path[0], sys.argv[:] = request.cwd, rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif how == "-c":
        sys.path[0], sys.argv[:] = "", ["-c", *rest[1:]]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), main.__dict__)
    else:
        sys.path[0], sys.argv[:] = os.path.dirname(how), [how, *rest]
        runpy.run_path(how, run_name="__main__")


def _forked_for_each(listener: socket.socket) -> socket.socket:
    """Fork for each process that connects; return its connection in the fork. Exit when the run is over."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks end unnoticed
    while True:
        if sys.stdin in select.select([listener, sys.stdin], [], [])[0]:
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.close(nothing)
            return connection
        connection.close()


if __name__ == "__main__":
    requested_by = socket.socket(fileno=int(sys.argv[1]))
    _load()
    if sys.argv[2:] == ["shared"]:
        requested_by = _forked_for_each(requested_by)
    if (job := _serve(requested_by)) is not None:
        _become(job)
