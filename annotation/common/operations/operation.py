"""Operations and their table: each is declared once, in a module of an app's package `operations`."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_type_hints

from django.apps import apps
from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.module_loading import module_has_submodule
from django.utils.translation import gettext_lazy as _

from annotation.common.operations.errors import EXPECTED_ERRORS, FieldError, Forbidden, Invalid
from annotation.common.operations.fields import StoredKind
from annotation.common.operations.requests import request_fields, request_to_dict
from annotation.common.roles import RESEARCHER, REVIEWER, WHOLE_SERVER
from phrasebox.plug_ins import PlugInFolders
from phrasebox.registry import Registry, discover, registering

_T = TypeVar("_T")
#: Who may see that a thing is there.
_BROWSING = (REVIEWER, RESEARCHER)
#: Names of a kind that an error lists at most.
_LISTED = 20


@dataclass(frozen=True, slots=True)
class OperationContext:
    """Who has an operation done (None: the person who runs commands), and where it says how far it is.

    `progress` is the job's, where a job does it. `by_path`: files are named by their paths, since the person
    who asks may read them anyway. `picture`: where they can look at one of `Image.picture`. `out` is where a
    command has its result put.
    """

    actor: Any = None
    progress: Any = None
    by_path: bool = False
    picture: Callable[[str], str | None] = lambda name: None
    out: Path | None = None
    listener: Callable[[str, float], object] = lambda phase, share: None

    def report_progress(self, phase: str, share: float) -> None:
        """Report the current phase, and the share of the whole that is done; it never falls."""
        self.listener(phase, share)
        if self.progress is not None:
            self.progress.advance(max(self.progress.share, share), phase=phase)

    def progress_of(self, phase: str, total: int) -> Callable[[Iterable[_T]], Iterator[_T]]:
        """What passes things on, `total` of them, and says after each hundredth how far it is."""
        step = max(1, total // 100)

        def passed_on(things: Iterable[_T]) -> Iterator[_T]:
            for number, thing in enumerate(things):
                if number % step == 0:
                    self.report_progress(phase, min(1.0, number / max(1, total)))
                yield thing

        return passed_on


class Listing(NamedTuple):
    """What an operation returns that lists things: `rows`, and what makes a row a result. Those of a table
    are ordered by the column `by` ("-pk": the last first), others by a function that makes a text of one; no
    two share it."""

    rows: QuerySet[Any] | Sequence[Any]
    by: str | Callable[[Any], str]
    result: Callable[[Any], Any]


class Pages(NamedTuple):
    """What an operation returns that lists things a page at a time: `page(mark, size)` returns at most so
    many results after those that end at `mark` (None: the first ones), and the mark of their end, None where
    no more follow."""

    page: Callable[[Any, int], tuple[Iterable[Any], Any]]

    def every(self, size: int = 500) -> Iterator[Any]:
        """All results, read page by page."""
        results, mark = self.page(None, size)
        yield from results
        while mark is not None:
            results, mark = self.page(mark, size)
            yield from results


@dataclass(frozen=True, slots=True)
class File:
    """The result of an operation that makes a file of a `media_type`; its `run` returns a NewFile.

    Its command refuses a path that something has already; with `replaces` an earlier file gives way to it.
    """

    media_type: str
    replaces: bool = False


class NewFile(NamedTuple):
    """A file to be made: what it is called, and what writes it to a path. Commands show what that returns.
    One that is `stored` already is sent as it is."""

    name: str
    write: Callable[[Path], object]
    stored: Path | None = None


@dataclass(frozen=True, slots=True)
class Has:
    """Who may have it done: the person who holds one of `roles` for what the field `on` names; where it names
    nothing, for anything, with `corpora` for a corpus at least, with `server` for the whole server. Without
    roles everybody who is signed in may."""

    roles: tuple[str, ...]
    on: str = ""
    corpora: bool = False
    server: bool = False

    def allows(self, account: Any) -> bool:
        """Whether an account may have it done for something."""
        if self.server:
            return bool(account.has_role(*self.roles, on=WHOLE_SERVER))
        return not self.roles or bool(account.has_role_somewhere(*self.roles, corpora=self.corpora))


@dataclass(frozen=True, slots=True)
class Rest:
    """How the API serves an operation. Placeholders of `path` are fields of the request.

    `route` names the address, which several methods share ("" for the operation's name); `own_transactions`:
    the work takes long, or several transactions. `creates` is the address of what was made, with fields of
    the result, as "runs/{name}". Calls are limited to so many a minute where they are `paced`.
    """

    method: str
    path: str
    tag: str
    route: str = ""
    own_transactions: bool = False
    paced: bool = True
    creates: str = ""
    example: Any = None

    @property
    def arguments(self) -> list[str]:
        """The fields of the request that the address holds."""
        return re.findall(r"<\w+:(\w+)>", self.path)


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What a command has of its own: fields that are `positional` (those of the address unless it says
    others), how its result is written as `text`, and in other `layouts`, each with its switch, as --csv.
    `out`: what its option --out DIR is for."""

    positional: tuple[str, ...] = ()
    out: str = ""
    text: Callable[[Any], str] | None = None
    layouts: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)


class ResultTable(NamedTuple):
    """A result as a page shows it: the columns' names, the cells of each row, and remarks under it."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class FormPage:
    """The page that holds the form of an operation; `route` where it is made by hand, else one is made.

    `started`: what is said when its job was enqueued; `done`: what is said when it was done at once, with
    fields of the result, as "%(name)s", or what says it of the result ("": nothing). Then the page is shown
    whose path `leads` makes of the result. A result with a secret is shown under it, on a page of its own;
    another one as the `table` made of it, where there is one.
    `sure`: the text of a box that must be ticked first, where the operation cannot be undone.
    """

    route: str = ""
    started: str | Promise = ""
    done: str | Promise | Callable[[Any], str] = ""
    sure: str | Promise = ""
    leads: Callable[[Any], str] | None = None
    table: Callable[[Any], ResultTable] | None = None


class _AsRunSays:
    """Marks a value that comes from the annotations of `run`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operation:
    """Something that can be done: `run(request, context)` returns a `result`, a dataclass.

    `name` is that of the command and of the job; that of `run` unless it is given, as are `request` and
    `result`. `before_job` checks a request before its job is enqueued,
    and may fill it in. `errors` are those that `run` raises where things, and not we, are in the way, beside
    `EXPECTED_ERRORS`, and `stale` those that say that somebody else was faster. A surface that is None does
    not offer it. It is `listed` where `run` returns a Listing or Pages; `result` is that of a row then. Where
    `confirms` is set, it asks for a password given within the last minutes. The field `secret` of the result
    is stored nowhere.
    """

    title: str | Promise
    permission: Has
    run: Callable[[Any, OperationContext], Any]
    name: str = ""
    request: type[Any] = _AsRunSays
    result: type[Any] | File | None = _AsRunSays
    before_job: Callable[[Any, OperationContext], Any] | None = None
    errors: tuple[type[Exception], ...] = ()
    stale: tuple[type[Exception], ...] = ()
    confirms: bool = False
    secret: str = ""
    as_job: bool = False
    listed: bool = field(init=False)
    rest: Rest | None = None
    command: CommandLine | None = field(default_factory=CommandLine)
    page: FormPage | None = None

    def __post_init__(self) -> None:
        types = get_type_hints(self.run)
        derived: dict[str, Any] = {
            "name": self.name or self.run.__name__,
            "errors": (*EXPECTED_ERRORS, *self.errors),
            "listed": types["return"] in (Listing, Pages),
        }
        for name, parameter in (("request", next(iter(types))), ("result", "return")):
            if getattr(self, name) is _AsRunSays:
                derived[name] = None if types[parameter] is type(None) else types[parameter]
                if types[parameter] in (Listing, Pages, NewFile):
                    raise TypeError(f"operation {derived['name']} does not say its result")
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def positional(self) -> Sequence[str]:
        """The fields that a command takes by position."""
        assert self.command is not None
        return self.command.positional or (self.rest.arguments if self.rest is not None else ())

    @property
    def app(self) -> str:
        """The name of its app, such as `evaluation`."""
        return self.run.__module__.partition(".")[0]

    def authorize(self, request: Any, account: Any) -> Any:
        """The row that the permission is about, None where it is about none; account None may do everything.

        Raises Forbidden, and Invalid where the request names what is not there, or not open to the account.
        """
        row = None
        with suppress(Invalid):  # which is among those of all fields
            row = self.authorize_named(request_to_dict(request), account)
        if errors := list(self._unknown(request, account)):
            raise Invalid(*errors)
        return row

    def authorize_named(self, data: Mapping[str, Any], account: Any) -> Any:
        """The row that the permission is about, where `data`, which may lack fields, names it; raises as
        `authorize`."""
        roles, on = self.permission.roles, self.permission.on
        if account is not None and not self.permission.allows(account):
            raise Forbidden(*roles)
        if not on or on not in data:
            return None
        named = request_fields(self.request)[on].named
        assert named is not None and named.kind is not None, f"{self.name}: {on} names nothing"
        row = named.kind.find(data[on], account, roles)
        if row is None and account is not None and named.kind.find(data[on], account, _BROWSING) is not None:
            raise Forbidden(*roles)
        if row is None:
            raise Invalid(_unknown_name(on, data[on], named.kind, account, roles))
        return row

    def _unknown(self, request: Any, account: Any) -> Iterator[FieldError]:
        """An error for each name in the request that nothing has which the account may use."""
        for declared in request_fields(self.request).values():
            if not (value := getattr(request, declared.name)):
                continue
            if declared.server_file is not None and account is not None:
                known = declared.server_file.names()
                for name in value if declared.many else [value]:
                    if name not in known:
                        params = {"kind": _("file"), "value": name[:100], "known": ", ".join(known)}
                        yield FieldError(declared.name, "unknown_of" if known else "unknown", params)
            if declared.named is None or declared.named.kind is None:
                continue
            for number, name in enumerate(value if declared.many else [value]):
                if declared.named.kind.find(name, account, self.permission.roles) is None:
                    path = f"{declared.name}.{number}" if declared.many else declared.name
                    yield _unknown_name(path, name, declared.named.kind, account, self.permission.roles)


def _unknown_name(
    path: str, name: str | int, kind: StoredKind, account: Any, roles: Iterable[str]
) -> FieldError:
    known = kind.names(account, roles)[: _LISTED + 1]
    params = {"kind": kind.title, "value": str(name)[:100], "known": ", ".join(map(str, known))}
    return FieldError(path, "unknown_of" if 0 < len(known) <= _LISTED else "unknown", params)


_OPERATIONS: Registry[Operation] = Registry("operation")
#: What a site adds: packages whose folders have a module `operation`.
OPERATION_FOLDERS = PlugInFolders("operation")


#: Declare an operation, as `Operation` takes it, and add it to the table; raises ValueError where its name is
#: taken.
register = registering(lambda operation: _OPERATIONS.register(operation.name, operation), Operation)


def operation_named(name: str) -> Operation:
    """The operation `name`; raises UnknownName."""
    _load()
    return _OPERATIONS.get(name)


def all_operations() -> Iterator[Operation]:
    """Every operation of every app and of the plug-ins, by name."""
    _load()
    return iter(_OPERATIONS)


@cache
def _load() -> None:
    # On first use, not at start: declarations import the services behind them.
    for config in apps.get_app_configs():
        if config.module is not None and module_has_submodule(config.module, "operations"):
            discover(__import__(f"{config.name}.operations", fromlist=["operations"]))
    OPERATION_FOLDERS.load()
