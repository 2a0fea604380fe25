"""The database of a backup: a consistent copy while others write, and its restoration in place of the current
one.

SQLite copies itself (VACUUM INTO: only what is stored, without deleted data), and restores a copy as one
transaction. PostgreSQL has its own programs for both; restoring is one transaction, too. So the database is
the old one or the new one, whenever the power fails.
"""

import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from django.apps import apps
from django.db import connection, connections
from django.db.backends.postgresql.client import DatabaseClient
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from annotation.backups import BackupError

#: Created together with the tables: a database with only these is empty.
TABLES_OF_MIGRATE = {"django_content_type", "auth_permission", "django_migrations"}
#: Exit status of psql if a statement failed; then it has committed nothing.
_SCRIPT_FAILED = 3
#: Seconds to wait for a lock.
LOCK_PATIENCE = 20
#: Folders of PostgreSQL's programs besides PATH: Debian's and Ubuntu's packages, Fedora's, Homebrew's.
PROGRAM_FOLDERS = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "opt/homebrew/opt/postgresql@*/bin")


def applied() -> list[str]:
    """Return the applied migrations as `app.name`; none if the database does not exist yet."""
    return sorted(".".join(key) for key in MigrationRecorder(connection).applied_migrations())


def unknown_migrations(migrations: Iterable[str]) -> list[str]:
    """Return those of `migrations` that are unknown to this version of the code."""
    known = {".".join(key) for key in MigrationLoader(None).disk_migrations or ()}
    return sorted(set(migrations) - known)


def tables() -> list[str]:
    """Return the existing tables of the product, of any version."""
    ours = tuple({model._meta.db_table.split("_")[0] + "_" for model in apps.get_models()})
    return sorted(name for name in connection.introspection.table_names() if name.startswith(ours))


def filled_tables() -> list[str]:
    """Return the tables with rows that were not created together with them."""
    filled = []
    with connection.cursor() as cursor:
        for name in tables():
            if name not in TABLES_OF_MIGRATE:
                cursor.execute(f"SELECT 1 FROM {connection.ops.quote_name(name)} LIMIT 1")
                if cursor.fetchone():
                    filled.append(name)
    return filled


class Unsure(BackupError):
    """It is unknown whether the database was replaced: its last response is missing."""


class Database(ABC):
    """The interface of the two databases for backups."""

    #: Django's name of the database, and the member of a backup with its copy.
    vendor: str
    member: str

    @abstractmethod
    def copy(self, target: Path) -> None:
        """Write a consistent copy to `target`, while others may go on writing."""

    @abstractmethod
    def check(self, file: Path) -> None:
        """Raise BackupError if `file` cannot be restored."""

    @abstractmethod
    def replace(self, file: Path) -> None:
        """Replace everything by the content of `file`, in one transaction.

        Raises BackupError if nothing has changed, and Unsure if that is unknown.
        """

    def others(self) -> int:
        """Return the number of other connections, if the database knows it."""
        return 0

    @abstractmethod
    def analyse(self) -> None:
        """Update the planner's statistics."""


def database() -> Database:
    """Return the database in use."""
    return Postgres() if connection.vendor == "postgresql" else Sqlite()


class Sqlite(Database):
    """SQLite, in the file of DATABASE_URL."""

    vendor, member = "sqlite", "database.sqlite3"

    def __init__(self) -> None:
        self._file = str(connection.settings_dict["NAME"])

    def copy(self, target: Path) -> None:
        _for_us_alone(target)
        try:
            with closing(sqlite3.connect(self._file, timeout=LOCK_PATIENCE, isolation_level=None)) as source:
                source.execute("VACUUM INTO ?", [str(target)])
        except sqlite3.Error as error:
            raise BackupError(f"the database {self._file} cannot be copied: {error}") from error

    def check(self, file: Path) -> None:
        try:
            with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
                ((answer,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
        except sqlite3.Error as error:
            answer = str(error)
        if answer != "ok":
            raise BackupError(f"its database is damaged: {answer}")

    def replace(self, file: Path) -> None:
        connections.close_all()
        try:
            with (
                closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as source,
                closing(sqlite3.connect(self._file, timeout=LOCK_PATIENCE, isolation_level=None)) as target,
            ):
                # `backup` would wait for a writer without limit.
                target.execute("BEGIN IMMEDIATE")
                target.execute("ROLLBACK")
                source.backup(target)
        except sqlite3.Error as error:
            raise BackupError(f"the database {self._file} cannot be replaced: {error}") from error

    def analyse(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA optimize")


class Postgres(Database):
    """PostgreSQL, by its own programs. They get the password in their environment, never as an argument."""

    vendor, member = "postgresql", "database.dump"

    def copy(self, target: Path) -> None:
        _for_us_alone(target)
        schema = self._schema().replace('"', '""')
        command = [
            "--format=custom",
            "--no-owner",
            "--no-privileges",
            f"--lock-wait-timeout={LOCK_PATIENCE}s",
        ]
        command += [f'--table="{schema}"."{name}"' for name in tables()]
        self._run("pg_dump", [*command, f"--file={target}"], connected=True)

    def check(self, file: Path) -> None:
        # Reads all of it without any effect.
        self._run("pg_restore", [f"--file={os.devnull}", str(file)])

    def replace(self, file: Path) -> None:
        head = [f"SET lock_timeout = '{LOCK_PATIENCE}s';"]
        if there := tables():
            # Includes those of a newer version: a backup is also restored to return to an older one.
            head.append(f"DROP TABLE {', '.join(map(connection.ops.quote_name, there))} CASCADE;")
        reading = [self._tool("pg_restore"), "--file=-", "--no-owner", "--no-privileges", str(file)]
        writing, environment = self._connected(
            [self._tool("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"]
        )
        connections.close_all()
        with (
            tempfile.TemporaryFile(dir=file.parent) as errors,
            subprocess.Popen(
                writing, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, env=environment
            ) as psql,
        ):
            committing = False
            try:
                assert psql.stdin is not None
                psql.stdin.write("\n".join(["BEGIN;", *head, ""]).encode())
                psql.stdin.flush()
                with subprocess.Popen(reading, stdout=psql.stdin, stderr=errors, env=environment) as script:
                    script.wait()
                # Without this line, everything before it is rolled back.
                committing = script.returncode == 0
                psql.stdin.write(b"COMMIT;\n" if committing else b"ROLLBACK;\n")
                psql.stdin.close()
            except BrokenPipeError:
                pass  # it has reported why
            except BaseException:
                psql.kill()
                raise
            status = psql.wait()
            errors.seek(0)
            why = _why(errors.read())
            if status not in (0, _SCRIPT_FAILED) and committing:
                raise Unsure(
                    f"the connection to PostgreSQL was lost while the database was replaced: {why}; restore "
                    "the backup again, and let it replace what is there; nothing starts before that"
                )
            if status != 0 or not committing:
                raise BackupError(f"the database cannot be replaced: {why}")

    def others(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            return int(cursor.fetchone()[0])

    def analyse(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE " + ", ".join(map(connection.ops.quote_name, tables())))

    def _run(self, name: str, arguments: list[str], *, connected: bool = False) -> None:
        command = [self._tool(name), *arguments]
        environment: dict[str, str] | None = None
        if connected:
            command, environment = self._connected(command)
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
        )
        if done.returncode != 0:
            raise BackupError(f"{name} failed: {_why(done.stderr)}")

    def _connected(self, command: list[str]) -> tuple[list[str], dict[str, str]]:
        """Return `command` with the arguments, and the environment, for connecting to the database."""
        settings_dict = connection.settings_dict
        (_psql, *arguments), secrets = DatabaseClient.settings_to_cmd_args_env(
            settings_dict, ["--no-password"]
        )
        environment = {**os.environ, "LC_ALL": "C", **(secrets or {})}
        if options := settings_dict["OPTIONS"].get("options"):
            environment["PGOPTIONS"] = str(options)
        return [*command, *arguments], environment

    def _schema(self) -> str:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_schema()")
            return str(cursor.fetchone()[0])

    def _tool(self, name: str) -> str:
        connection.ensure_connection()
        return tool(name, server=int(connection.pg_version) // 10_000)  # type: ignore[attr-defined]


def tool(name: str, *, server: int) -> str:
    """Return PostgreSQL's program `name` for a server of that version: of the same, else of the next newer
    one."""
    tools: dict[int, str] = {}
    on_path = shutil.which(name)
    for path in [
        *([Path(on_path)] if on_path else []),
        *(p for at in PROGRAM_FOLDERS for p in Path("/").glob(f"{at}/{name}")),
    ]:
        tools.setdefault(_version(path), str(path))
    fit = [version for version in tools if version >= server]
    if not fit:
        has = f"version {max(tools)} is too old" if tools else "there is none"
        raise BackupError(
            f"{name} of PostgreSQL {server} is needed, and {has}; install Debian's package "
            f"postgresql-client-{server}, or the like"
        )
    return tools[min(fit)]


def _version(program: Path) -> int:
    """Return the major version of a program; 0 if it does not run."""
    try:
        output = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=LOCK_PATIENCE
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    number = re.search(r"(\d+)", output)
    return int(number[1]) if number else 0


def _for_us_alone(target: Path) -> None:
    """Create `target`, empty and readable only by us, before a program fills it."""
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _why(output: bytes) -> str:
    """Return the first line of a program's output with an error, else the last one."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() or "fatal" in line.lower()]
    return (errors or lines[-1:] or ["it did not say why"])[0]
