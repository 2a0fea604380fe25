"""Operations and their registry: each is declared once, in a module of an app's package `operations`."""

import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Self, TypeVar, get_type_hints

from django.apps import apps
from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.module_loading import module_has_submodule
from django.utils.translation import gettext_lazy as _

from annotation.common.operations.errors import EXPECTED_ERRORS, FieldError, Forbidden, Invalid
from annotation.common.operations.fields import StoredKind
from annotation.common.operations.requests import request_fields, request_to_dict
from annotation.common.operations.tables import ResultTables
from annotation.common.roles import RESEARCHER, REVIEWER, WHOLE_SERVER
from phrasebox.plug_ins import PlugInFolders
from phrasebox.registry import Registry, discover, registering

_T = TypeVar("_T")
#: The roles that may see that an object exists.
_BROWSING = (REVIEWER, RESEARCHER)
#: The largest number of names of a kind in an error.
_LISTED = 20


@dataclass(frozen=True, slots=True)
class OperationContext:
    """The caller of an operation (None: a command), and its progress callbacks.

    `progress` is the job's, if a job runs it; this context has its share from `start` to `end`. `by_path`:
    files are given as paths, since the caller can read them anyway. `picture`: returns the URL of an
    `Image.picture` for the caller. `out` is a command's output path.
    """

    actor: Any = None
    progress: Any = None
    by_path: bool = False
    picture: Callable[[str], str | None] = lambda name: None
    out: Path | None = None
    listener: Callable[[str, float], object] = lambda phase, share: None
    start: float = 0.0
    end: float = 1.0

    def part(self, start: float, end: float) -> Self:
        """Return the context of another operation that is a part of this one: from `start` to `end` of its
        work."""
        length = self.end - self.start
        return replace(self, start=self.start + length * start, end=self.start + length * end)

    def report_progress(self, phase: str, share: float) -> None:
        """Report the current phase, and the share of the whole that is done; it never decreases."""
        share = self.start + (self.end - self.start) * share
        self.listener(phase, share)
        if self.progress is not None:
            self.progress.advance(max(self.progress.share, share), phase=phase)

    def progress_of(self, phase: str, total: int) -> Callable[[Iterable[_T]], Iterator[_T]]:
        """Return a function that yields things, `total` of them, and reports progress after each
        hundredth."""
        step = max(1, total // 100)

        def passed_on(things: Iterable[_T]) -> Iterator[_T]:
            for number, thing in enumerate(things):
                if number % step == 0:
                    self.report_progress(phase, min(1.0, number / max(1, total)))
                yield thing

        return passed_on


class Listing(NamedTuple):
    """The result of an operation that lists objects: `rows`, and the function that converts a row. Rows of a
    table are sorted by the column `by` ("-pk": the newest first), others by a function that returns a string;
    its values are unique."""

    rows: QuerySet[Any] | Sequence[Any]
    by: str | Callable[[Any], str]
    result: Callable[[Any], Any]


class Pages(NamedTuple):
    """The result of an operation that lists objects page by page: `page(mark, size)` returns at most `size`
    results after those that end at `mark` (None: the first ones), and the mark of their end, None on the last
    page."""

    page: Callable[[Any, int], tuple[Iterable[Any], Any]]

    def every(self, size: int = 500) -> Iterator[Any]:
        """Yield all results, page by page."""
        results, mark = self.page(None, size)
        yield from results
        while mark is not None:
            results, mark = self.page(mark, size)
            yield from results


@dataclass(frozen=True, slots=True)
class File:
    """The result type of an operation that creates a file of a `media_type`; its `run` returns a NewFile.

    Its command rejects a path that exists already; with `replaces` it overwrites an earlier file.
    """

    media_type: str
    replaces: bool = False


class NewFile(NamedTuple):
    """A file to be created: its name, and the function that writes it to a path, whose result commands print.
    A `stored` file is sent unchanged."""

    name: str
    write: Callable[[Path], object]
    stored: Path | None = None


@dataclass(frozen=True, slots=True)
class Has:
    """A permission: one of `roles` is required for the object that the field `on` names (the first one of a
    list; each of the others is looked up among those that the account may use); without an object,
    for any one, with `corpora` for at least one corpus, with `server` for the whole server. Without roles
    every signed-in account is allowed."""

    roles: tuple[str, ...]
    on: str = ""
    corpora: bool = False
    server: bool = False

    def allows(self, account: Any) -> bool:
        """Whether an account has the permission for any object."""
        if self.server:
            return bool(account.has_role(*self.roles, on=WHOLE_SERVER))
        return not self.roles or bool(account.has_role_somewhere(*self.roles, corpora=self.corpora))


@dataclass(frozen=True, slots=True)
class Rest:
    """How the API serves an operation. Placeholders of `path` are fields of the request.

    `route` is the name of the URL, which several methods may share ("": the operation's name);
    `own_transactions`: the work takes long, or several transactions. `creates` is the URL of the created
    object, with fields of the result, such as "runs/{name}". `paced` limits the calls per minute.
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
        """Return the fields of the request that are in the URL."""
        return re.findall(r"<\w+:(\w+)>", self.path)


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The specifics of a command: its `positional` fields (those of the URL by default), its result as
    `text`, and in other `layouts`, each with an option such as --csv. `out`: the help of its option --out
    DIR."""

    positional: tuple[str, ...] = ()
    out: str = ""
    text: Callable[[Any], str] | None = None
    layouts: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FormPage:
    """The page with the form of an operation; `route` for a hand-written one, else one is generated.

    `started`: the message when its job was queued; `done`: the message when it ran at once, with fields of
    the result, such as "%(name)s", or a function of the result ("": no message). Then the page is displayed
    whose path `leads` returns for the result. A result with a secret is displayed below, on a separate page;
    another one as its `tables`, if there are any, with a `figure` in SVG, also that of a job. `sure`: the
    text of a box that must be ticked first, for an operation that cannot be undone.
    """

    route: str = ""
    started: str | Promise = ""
    done: str | Promise | Callable[[Any], str] = ""
    sure: str | Promise = ""
    leads: Callable[[Any], str] | None = None
    tables: ResultTables | None = None
    figure: Callable[[Any], str] | None = None


class _AsRunSays:
    """Marks a value that is derived from the annotations of `run`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operation:
    """An operation: `run(request, context)` returns a `result`, a dataclass.

    `name` is that of the command and of the job, by default the function's; `request` and `result` are by
    default from its annotations. `before_job` checks a request before its job is queued, and may complete it.
    `errors` are exceptions of `run` that the data causes, besides `EXPECTED_ERRORS`, and `stale` those that
    mean a concurrent change. A surface that is None does not offer the operation. It is `listed` if `run`
    returns a Listing or Pages; `result` is then the type of a row. With `confirms` it requires a password
    entered within the last minutes. The field `secret` of the result is never stored.
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
        """Return the positional fields of its command."""
        assert self.command is not None
        return self.command.positional or (self.rest.arguments if self.rest is not None else ())

    @property
    def app(self) -> str:
        """The name of its app, such as `evaluation`."""
        return self.run.__module__.partition(".")[0]

    def authorize(self, request: Any, account: Any) -> Any:
        """Return the row to which the permission applies, None if there is none; account None may do
        everything.

        Raises Forbidden, and Invalid if the request names something that does not exist, or is not visible
        to the account.
        """
        row = None
        with suppress(Invalid):  # it is reported with the errors of all fields
            row = self.authorize_named(request_to_dict(request), account)
        if errors := list(self._unknown(request, account)):
            raise Invalid(*errors)
        return row

    def authorize_named(self, data: Mapping[str, Any], account: Any) -> Any:
        """Return the row to which the permission applies, if `data`, which may be incomplete, names it;
        raises as `authorize`."""
        roles, on = self.permission.roles, self.permission.on
        if account is not None and not self.permission.allows(account):
            raise Forbidden(*roles)
        if not on or not data.get(on):
            return None
        declared = request_fields(self.request)[on]
        named = declared.named
        assert named is not None and named.kind is not None, f"{self.name}: {on} names nothing"
        name = data[on][0] if declared.many else data[on]
        row = named.kind.find(name, account, roles)
        if row is None and account is not None and named.kind.find(name, account, _BROWSING) is not None:
            raise Forbidden(*roles)
        if row is None:
            path = f"{on}.0" if declared.many else on
            raise Invalid(_unknown_name(path, name, named.kind, account, roles))
        return row

    def _unknown(self, request: Any, account: Any) -> Iterator[FieldError]:
        """Yield an error for each name in the request that does not exist, or that the account may not
        use."""
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
#: A site's additions: packages whose folders have a module `operation`.
OPERATION_FOLDERS = PlugInFolders("operation")


#: Declare an operation with the arguments of `Operation`, and register it; raises ValueError where its name
#: is taken.
register = registering(lambda operation: _OPERATIONS.register(operation.name, operation), Operation)


def operation_named(name: str) -> Operation:
    """Return the operation `name`; raises UnknownName. Only as many declarations are loaded as necessary."""
    if name not in _OPERATIONS:
        for module in _modules_by_relevance(name):
            importlib.import_module(module)
            if name in _OPERATIONS:
                break
        else:
            _load()
    return _OPERATIONS.get(name)


def all_operations() -> Iterator[Operation]:
    """Yield every operation of every app and of the plug-ins, by name."""
    _load()
    return iter(_OPERATIONS)


def _modules_by_relevance(name: str) -> list[str]:
    """Return the modules of declarations: those whose text has the name (`score_run`) first, then those that
    are called as its object is (`register_stored` makes `list_runs` in `runs`), then the others."""
    word, thing = re.compile(rf"\b{re.escape(name)}\b"), name.partition("_")[2].removesuffix("s")

    def relevance(file: Path) -> tuple[bool, bool]:
        return word.search(file.read_text(encoding="utf-8")) is None, not (
            thing and file.stem.startswith(thing)
        )

    files = {
        f"{package.__name__}.{file.stem}": relevance(file)
        for package in _packages()
        for file in sorted(Path(package.__path__[0]).glob("[!_]*.py"))
    }
    return sorted(files, key=files.__getitem__)


def _packages() -> Iterator[ModuleType]:
    """Yield every app's package `operations`."""
    for config in apps.get_app_configs():
        if config.module is not None and module_has_submodule(config.module, "operations"):
            yield importlib.import_module(f"{config.name}.operations")


@cache
def _load() -> None:
    # On first use, not at startup: declarations import their services.
    for package in _packages():
        discover(package)
    OPERATION_FOLDERS.load()
