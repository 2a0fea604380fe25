"""Common fixtures: separate settings, real data if present, and real servers.

Django is set up here, before anything imports a model, with DATA_DIR in a temporary folder. The database is
SQLite in a file, as embedded, or that of DATABASE_URL: `python -m tests.run` runs the tests on both.
"""

from __future__ import annotations

import functools
import gc
import os
import shutil
import signal
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import django
import hypothesis
import pytest
from django.conf import settings
from django.test import TransactionTestCase
from django.utils import translation

from annotation.task_types import discovery
from tests import databases, emptying, prepare, services

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.complete import CompleteProduct

REPOSITORY = Path(__file__).resolve().parent.parent
SCRATCH = Path(tempfile.mkdtemp(prefix="phrasebox-tests-"))

# The developer's own environment must not affect the tests, except DATABASE_URL.
for name in ("PHRASEBOX_ENV", "SECRET_KEY", "DEBUG", "ALLOWED_HOSTS", "STATIC_ROOT", "REDIS_URL"):
    os.environ.pop(name, None)
os.environ["SITE_URL"] = "http://testserver"
os.environ["CONTACT_EMAIL"] = "people@phrasebox.example"
os.environ["DATA_DIR"] = str(SCRATCH / "data")
# Caches of libraries: compiled kernels, the list of fonts.
os.environ["MPLCONFIGDIR"] = str(prepare.CACHE / "matplotlib")
os.environ["NUMBA_CACHE_DIR"] = str(prepare.CACHE / "numba")
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
gc.disable()  # until all is loaded: it would visit what stays a dozen times
django.setup()
if Path(settings.DATA_DIR) != SCRATCH / "data":
    raise RuntimeError(f"the settings were read before tests/conftest.py: DATA_DIR is {settings.DATA_DIR}")
discovery.load_kind_modules("simulate")

# Machines differ and are shared, so there is no deadline for examples. CI runs use the same examples every
# time; runs during development use new ones.
hypothesis.settings.register_profile(
    "phrasebox", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], max_examples=25
)
_usual = hypothesis.settings.get_profile("phrasebox")
hypothesis.settings.register_profile("phrasebox-again", _usual, derandomize=True)
hypothesis.settings.register_profile("phrasebox-thorough", _usual, max_examples=200)
hypothesis.settings.load_profile("phrasebox")

SQLITE = "django.db.backends.sqlite3"

#: Maximum number of characters of a failure's message in the summary.
MESSAGE_LENGTH = 300

#: Long files start first, so that the processes that share the files end together.
LONG_FILES = (
    *("tests/browser/", "tests/house/", "tests/rehearsal/", "tests/studies/"),
    *("tests/web/test_campaign_drafts.py", "tests/web/test_roles.py", "tests/web/test_oidc.py"),
)

#: A test may be skipped only if these files, which cannot be installed, are missing.
REAL_DATA = "real data"

#: Features that Chromium is run without. Each window would load two pages for its address bar, which took
#: half of its CPU time, and each page would start a process for the next one. The inner part is Playwright's
#: own list (1.65), which ours replaces.
_WITHOUT = (
    "WebUIOmniboxPopup WebUIOmniboxAimPopup WebUIOmniboxFullPopup "
    "AimEnabled AvoidCorsURLLoaderRestartOnRedirect AvoidUnnecessaryBeforeUnloadCheckSync "
    "DestroyProfileOnBrowserClose HttpsFirstBalancedModeAutoEnable HttpsUpgrades LensOverlay MediaRouter "
    "NetworkTimeServiceQuerying OptimizationHints PaintHolding PreconnectToSearch TcpPortRandomizationWin "
    "SpareRendererForSitePerProcess ThirdPartyStoragePartitioning"
)
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # pages of a profile share a process
    # No name resolution: without a name server it takes minutes.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
    f"--disable-features={_WITHOUT.replace(' ', ',')}",
]


def pytest_configure(config: pytest.Config) -> None:
    """Make SIGTERM end a run like Ctrl-C: fixtures are torn down, servers stopped, folders removed."""
    if config.getoption("--thorough"):
        hypothesis.settings.load_profile("phrasebox-thorough")
        os.environ["PHRASEBOX_THOROUGH"] = "1"
    elif config.getoption("--nothing-left-out"):
        hypothesis.settings.load_profile("phrasebox-again")

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not interrupt the teardown
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Give each of several processes a DATA_DIR of its own. A process with a settings module reads that
    before this file, and would otherwise use ours. This process collects no tests."""
    gc.enable()
    del os.environ["DJANGO_SETTINGS_MODULE"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--divided", action="store_true", help="Only what this database is for; see tests/databases.py"
    )
    parser.addoption(
        "--thorough", action="store_true", help="More examples, every look, all on both databases"
    )
    parser.addoption(
        "--nothing-left-out",
        action="store_true",
        help=f"Fail where a test was skipped for any reason but absent {REAL_DATA}",
    )
    parser.addoption(
        "--screenshots", type=Path, metavar="FOLDER", help="Where the walk by page leaves pictures of pages"
    )
    parser.addoption("--tell", type=Path, metavar="FILE", help="Write there which tests failed, and how")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip files without any test for this database, whose import takes as long as many tests."""
    from django.db import connection

    if not config.getoption("--divided") or not collection_path.name.startswith("test_"):
        return None
    file, thorough = _name_of(collection_path), bool(config.getoption("--thorough"))
    return True if connection.vendor not in databases.databases_of(file, thorough=thorough) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = [item for item in items if _means_something(item)]
    if config.getoption("--divided"):
        thorough = bool(config.getoption("--thorough"))
        chosen = [item for item in chosen if _is_for_this_database(item, thorough)]
    runs = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in runs])
    items[:] = sorted(chosen, key=lambda item: not _name_of(item.path).startswith(LONG_FILES))


def pytest_collection_finish() -> None:
    """Exclude loaded objects from garbage collection, which took 5 to 15 % of the time."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(100_000, 20, 100)


def pytest_runtest_teardown() -> None:
    """Reset the language: a request in German leaves its thread German."""
    translation.deactivate()


@functools.cache
def _name_of(file: Path) -> str:
    return file.relative_to(REPOSITORY).as_posix() if file.is_relative_to(REPOSITORY) else file.name


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    unexcused = _unexcused(terminalreporter)
    if config.getoption("--nothing-left-out") and unexcused:
        terminalreporter.section("left out, and must not be")
        for test, reason in unexcused:
            terminalreporter.line(f"{test}: {reason}")
    if config.getoption("--tell"):
        config.getoption("--tell").write_text("".join(_failures(terminalreporter)))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:  # one of several processes: skipped tests are reported by the main one
        return
    if session.config.getoption("--nothing-left-out") and exitstatus == 0 and _unexcused(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure() -> None:
    shutil.rmtree(SCRATCH, ignore_errors=True)


def _means_something(item: pytest.Item) -> bool:
    """Whether the test is for this run's database."""
    from django.db import connection

    return all(connection.vendor in mark.args for mark in item.iter_markers("only_on"))


def _is_for_this_database(item: pytest.Item, thorough: bool) -> bool:
    """Whether the test runs on this database: tests without a database run on one of the two; so do, by
    default, tests without a marker."""
    from django.db import connection

    runs_on = databases.databases_of(_name_of(item.path), thorough=thorough)
    if connection.vendor not in runs_on or connection.vendor == runs_on[0]:
        return connection.vendor in runs_on
    marks = {mark.name for mark in item.iter_markers()}
    return _uses_database(item) and (thorough or bool(marks & {"only_on", "on_both"}))


def _uses_database(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return "django_db" in {mark.name for mark in item.iter_markers()} or bool(
        fixtures & {"db", "transactional_db", "live_server"}
    )


def _unexcused(reporter: Any) -> list[tuple[str, str]]:
    """Return (test, reason) of every skipped test, except those that lack real data."""
    skipped = [(report.nodeid, str(report.longrepr[2])) for report in reporter.stats.get("skipped", ())]
    return [(test, reason) for test, reason in skipped if REAL_DATA not in reason.lower()]


def _failures(reporter: Any) -> Iterator[str]:
    """Yield a line or two for each failed test: its name, the phase, and the message."""
    for kind in ("failed", "error"):
        for report in reporter.stats.get(kind, ()):
            crash = getattr(report.longrepr, "reprcrash", None)
            message = crash.message if crash else str(report.longrepr)
            at = f" at {crash.path}:{crash.lineno}" if crash else ""
            beginning = textwrap.indent(message[:MESSAGE_LENGTH].strip(), "    ")
            yield f"{report.nodeid} ({report.when}{at})\n{beginning}\n"


def need(key: str) -> Path:
    """Return the path of the component; skip the test, with the name of the package, if it is missing."""
    path = prepare.find(key)
    if path is None:
        component = next(c for c in prepare.COMPONENTS if c.key == key)
        pytest.skip(prepare.reason_to_skip(component))
    return path


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """Use SQLite in a file, like the product: threads and processes have connections of their own. It is a
    copy of a database that was migrated once (tests/house/product.py). PostgreSQL's tables are created from
    the models, in a fifth of the time."""
    from django.db import connections

    from tests.house.product import migrated_database

    chosen = connections["default"].settings_dict
    if chosen["ENGINE"] == SQLITE:
        shutil.copy(migrated_database(), SCRATCH / "test.sqlite3")
        chosen["TEST"]["NAME"] = str(SCRATCH / "test.sqlite3")
        # Tests make more different queries than a server; preparing one again takes longer than running it.
        chosen["OPTIONS"]["cached_statements"] = 1000
    else:
        chosen["TEST"]["MIGRATE"] = False


@pytest.fixture(scope="session")
def django_db_keepdb(request: pytest.FixtureRequest) -> bool:
    """Use the copy unchanged; a database of PostgreSQL only if requested from pytest."""
    on_sqlite = settings.DATABASES["default"]["ENGINE"] == SQLITE
    return on_sqlite or bool(request.config.getoption("reuse_db"))


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Close connections of ended threads at the end, which would otherwise block the database."""
    with django_db_blocker.unblock():
        databases.as_migrated()
    yield
    gc.collect()


@pytest.fixture(scope="module", autouse=True)
def uncounted(django_db_blocker: Any) -> None:
    """Before each file, make PostgreSQL remove rolled-back rows, and forget that tables were empty.

    A test's rows are in a transaction that nobody else sees: statistics collected meanwhile (by autovacuum,
    which the tests' server does not run, or an ANALYZE of a test) count pages without rows. Every later plan
    then nests table scans, and takes thirty seconds instead of three.
    """
    from django.db import connection

    if connection.vendor == "postgresql" and str(connection.settings_dict["NAME"]).startswith("test_"):
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute("VACUUM (SKIP_LOCKED)")
            cursor.execute(
                "UPDATE pg_class SET relpages = 0, reltuples = -1 "
                "WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i') AND reltuples = 0"
            )


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> None:
    """Use a fast password hash: its strength is Django's concern."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session", autouse=True)
def serve_static_files_lazily() -> None:
    """Do not list static files for every new client: that took a tenth of the time of the pages' tests."""
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(scope="session", autouse=True)
def emptied_by_deleting() -> Iterator[None]:
    """Empty the database after tests that commit; see tests/emptying.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: emptying.empty())
        yield


@pytest.fixture(scope="session", autouse=True)
def convert_queries_once() -> Iterator[None]:
    """Write a query with SQLite's placeholders once: Django's regular expression took a twentieth of the time
    of tests with a database."""
    from django.db.backends.sqlite3.base import SQLiteCursorWrapper

    convert: Callable[..., str] = SQLiteCursorWrapper.convert_query
    converted = functools.lru_cache(maxsize=1000)(lambda query: convert(None, query))

    def cached(cursor: Any, query: str, *, param_names: Any = None) -> str:
        if param_names is not None or len(query) > 10_000:
            return convert(cursor, query, param_names=param_names)
        return converted(query)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SQLiteCursorWrapper, "convert_query", cached)
        yield


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data: REAL_DATA_DIR, or ../shared/data beside the repository."""
    folder = Path(os.environ.get("REAL_DATA_DIR") or REPOSITORY.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"{REAL_DATA} absent: no folder {folder} (REAL_DATA_DIR can name another)")
    return folder


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis for this test run."""
    with services.redis_server(need("redis")) as url:
        yield url


@pytest.fixture
def complete(tmp_path: Path) -> Iterator[CompleteProduct]:
    """The whole product on an empty database, in processes of its own."""
    from tests.complete import complete_product

    with complete_product(
        tmp_path / "product", postgresql=need("postgresql"), redis=need("redis")
    ) as product:
        yield product


@pytest.fixture(scope="session")
def wordnet() -> Path:
    """The folder of WordNet's noun files."""
    return need("wordnet")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium with a fresh profile; open a context in it for every test."""
    from playwright.sync_api import sync_playwright

    executable = need("chromium")
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright runs an event loop in this thread, which Django takes for asynchronous code.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        chromium = playwright.chromium.launch(executable_path=executable, headless=True, args=CHROMIUM_FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(autouse=True)
def forgetful() -> None:
    """Clear caches by id, since test databases reuse ids."""
    from django.core.cache import cache

    from annotation.quality.controls import control_pool, likeness
    from annotation.queue import image_state
    from annotation.selectors import answers, spelling
    from annotation.selectors.campaign import cached
    from annotation.selectors.controls import control_metadata
    from annotation.task_types.displayed import displayed_image

    # A slow machine would cache what a fast one counts again; tests of caching set this (0.0).
    cached.SLOW = float("inf")
    cache.clear()
    control_pool.cache_clear()
    likeness._pool.cache_clear()
    control_metadata.cache_clear()
    displayed_image.cache_clear()
    image_state._unruled.cache_clear()
    answers.image_key.cache_clear()
    spelling.corpus_words.cache_clear()
