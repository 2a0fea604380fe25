"""`manage.py serve`: the web server and, without a broker, the jobs: one process group."""

import errno
import gc
import ipaddress
import logging
import os
import socket
import subprocess
import sys
import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.servers.basehttp import get_internal_wsgi_application
from django.db import DatabaseError, InterfaceError, connections
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter

from annotation.common import database
from annotation.common.locks import Busy, at_work
from annotation.common.private_files import close_to_others, open_to_others
from annotation.common.readers import readers_have_no_network
from annotation.selectors import spelling
from annotation.workers.accounts import first

log = logging.getLogger(__name__)

HOST, PORT = "127.0.0.1", 8000
LAST_PORT = 65535
THREADS = 8
#: Seconds that running requests have to end after the signal to stop.
GRACE = 20
#: Seconds after which a worker of jobs that died is restarted.
RESTART = 5.0


class JobsProcess:
    """`manage.py run_jobs` as a child process, restarted when it dies. Without locks, for one thread."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._started = -RESTART

    def ensure_started(self) -> None:
        """Start it unless it is running."""
        if self._child is not None and self._child.poll() is None:
            return
        if time.monotonic() - self._started < RESTART:
            return
        self._started = time.monotonic()
        manage = str(settings.BASE_DIR / "manage.py")
        command = [sys.executable, manage, "run_jobs", "--parent", str(os.getpid())]
        self._child = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def ask_to_end(self) -> None:
        """Make the process end after its job; nothing if there is none."""
        if self._child is not None:
            self._child.terminate()

    def end(self) -> None:
        """Wait until it has ended; kill it after GRACE seconds."""
        if self._child is None:
            return
        try:
            self._child.wait(GRACE)
        except subprocess.TimeoutExpired:
            # The sweep queues its job again.
            self._child.kill()
            self._child.wait()


class Master(Arbiter):
    """Gunicorn's master, which also supervises the worker of jobs."""

    jobs: JobsProcess | None = None

    def manage_workers(self) -> None:
        super().manage_workers()
        if self.jobs is not None:
            self.jobs.ensure_started()

    def stop(self, graceful: bool = True) -> None:
        jobs, self.jobs = self.jobs, None
        if jobs is not None:
            jobs.ask_to_end()
        super().stop(graceful)
        if jobs is not None:
            jobs.end()


class Server(BaseApplication):
    """Gunicorn, configured only here: it reads neither a command line nor a file nor the environment."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        super().__init__()

    def load_config(self) -> None:
        for name, value in self.options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """Return the application to serve."""
        return get_internal_wsgi_application()

    def run(self) -> None:
        """Serve until a signal ends it; without Redis, a child process runs the jobs."""
        master = Master(self)
        if not settings.REDIS_URL:
            master.jobs = JobsProcess()
        master.run()


def run_server(host: str = HOST, port: int = PORT, *, workers: int = 1) -> None:
    """Serve until interrupted; print the address when it is ready.

    Raises CommandError if the port is taken, if the database is newer than the code, and while a backup is
    being restored.

    A process answers one call of the API at a time (docs/queue.md): one per core suits SQLite, which has one
    writer at a time, three for two cores PostgreSQL. Without REDIS_URL one more runs the jobs.
    """
    address = _address(host, port)
    if settings.SECRET_KEY == settings.DEFAULT_SECRET and not _is_here(host, port):
        raise CommandError(
            f"{host} can be reached from elsewhere, and SECRET_KEY is the public default: anyone who knows "
            "it can sign in as anybody; set SECRET_KEY to a long random string"
        )
    try:
        database.refuse_newer()
    except database.NewerSchema as error:
        raise CommandError(str(error)) from error
    except (DatabaseError, InterfaceError) as error:
        log.warning("served without it for now, as the database cannot be used: %s", str(error).strip())
    if settings.SITE_URL == settings.DEFAULT_SITE_URL:
        settings.SITE_URL = f"http://{address}"
        # Also for the child process that runs the jobs.
        os.putenv("SITE_URL", settings.SITE_URL)
    if not readers_have_no_network():
        log.warning("the system does not let us keep readers of files from the network (docs/operation.md)")
    close_to_others()
    for path in open_to_others():
        log.warning("other users of this machine can read %s: take it from them with chmod", path)
    token = _first_token()
    _load_dictionary()
    # Forked processes must not share a connection.
    connections.close_all()
    server = Server(
        {
            "bind": address,
            "workers": workers,
            # Loaded once, before the fork: processes share its memory, and all are ready at once.
            "preload_app": True,
            "worker_class": "config.buffered_worker.BufferedWorker",
            "threads": THREADS,
            "graceful_timeout": GRACE,
            "logconfig_dict": settings.LOGGING,
            "loglevel": "info" if settings.PRODUCTION else "warning",
            "when_ready": lambda arbiter: _ready(address, token),
            "child_exit": lambda arbiter, worker: worker.reaped(),
            # Gunicorn would create a socket for remote control in the home folder.
            "control_socket_disable": True,
        }
    )
    try:
        # Forked processes share the lock, so that it outlives a master that was killed.
        with at_work():
            server.run()
    except Busy as error:
        raise CommandError(str(error)) from error


def _first_token() -> str:
    """Return the token of the link to the first account, "" if there is an account, or no table yet."""
    try:
        return first.token()
    except (DatabaseError, InterfaceError):
        return ""


def _load_dictionary() -> None:
    """Load the dictionary before the fork, if sentences are written: processes share it, and no writer
    waits."""
    try:
        if spelling.is_needed():
            spelling.load_dictionary()
    except (DatabaseError, InterfaceError):
        return  # Each process then loads it on first use.


def _ready(address: str, token: str) -> None:
    """Before the fork: loaded objects stay, and garbage collection need not visit them."""
    gc.collect()
    gc.freeze()
    print(f"Serving at http://{address}/ (Ctrl-C stops it)", flush=True)
    if token:
        print(
            f"Nobody has an account yet. Create the first: http://{address}/first-account/{token}/",
            flush=True,
        )


def _address(host: str, port: int) -> str:
    """Return `host` and `port` for Gunicorn, checked to be free by binding them for a moment."""
    if not 0 < port <= LAST_PORT:
        raise CommandError(f"there is no port {port}; use one from 1 to {LAST_PORT}")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CommandError(
                f"port {port} of {host} is taken; stop what listens there, or choose another: "
                f"manage.py serve --port {port + 1}"
            ) from error
        raise CommandError(f"cannot listen on port {port} of {host}: {error.strerror}") from error
    return f"[{host}]:{port}" if family == socket.AF_INET6 else f"{host}:{port}"


def _is_here(host: str, port: int) -> bool:
    """Whether only this machine can reach `host`."""
    places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return all(ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in places)


class Command(BaseCommand):
    help = f"Serve the pages, at {HOST}:{PORT} unless told otherwise, and run the jobs if no broker is set"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=HOST, help=f"Address to listen on (default {HOST})")
        parser.add_argument("--port", type=int, default=PORT, help=f"Port to listen on (default {PORT})")
        parser.add_argument("--workers", type=int, default=1, help="Processes (default 1; see docs/queue.md)")

    def handle(self, *args: Any, **options: Any) -> None:
        run_server(options["host"], options["port"], workers=options["workers"])
