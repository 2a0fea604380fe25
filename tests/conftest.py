"""What every test has: settings of its own, real data where it lies, and real servers.

Django is set up here, before anything imports a model, with DATA_DIR in a temporary folder. The
database is SQLite in a file, as embedded, or whatever DATABASE_URL names: `python -m tests.run`
runs the tests on both.
"""

from __future__ import annotations

import functools
import gc
import os
import shutil
import signal
import tempfile
import textwrap
from collections.abc import Iterator
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

# The developer's own environment must not leak in: only DATABASE_URL is the tests' to choose.
for name in ("PHRASEBOX_ENV", "SECRET_KEY", "DEBUG", "ALLOWED_HOSTS", "STATIC_ROOT", "REDIS_URL"):
    os.environ.pop(name, None)
os.environ["SITE_URL"] = "http://testserver"
os.environ["CONTACT_EMAIL"] = "people@phrasebox.example"
os.environ["DATA_DIR"] = str(SCRATCH / "data")
# What libraries make once and keep: compiled kernels, the list of fonts.
os.environ["MPLCONFIGDIR"] = str(prepare.CACHE / "matplotlib")
os.environ["NUMBA_CACHE_DIR"] = str(prepare.CACHE / "numba")
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
django.setup()
if Path(settings.DATA_DIR) != SCRATCH / "data":
    raise RuntimeError(f"the settings were read before tests/conftest.py: DATA_DIR is {settings.DATA_DIR}")
discovery.load_kind_modules("simulate")

# Machines differ and are shared; how long an example takes is no property of the code. A run that decides
# whether a change is taken tries the same examples every time; the person who works on the code tries new
# ones.
hypothesis.settings.register_profile(
    "phrasebox", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], max_examples=25
)
_usual = hypothesis.settings.get_profile("phrasebox")
hypothesis.settings.register_profile("phrasebox-again", _usual, derandomize=True)
hypothesis.settings.register_profile("phrasebox-thorough", _usual, max_examples=200)
hypothesis.settings.load_profile("phrasebox")

SQLITE = "django.db.backends.sqlite3"

#: How much of a failure's message is told at the very end of a run, in characters.
MESSAGE_LENGTH = 300

#: Files that take long begin first, so that the processes which share the files end together.
LONG_FILES = ("tests/browser/", "tests/house/", "tests/rehearsal/", "tests/studies/")

#: A test may be left out for want of these files, which cannot be installed; for nothing else.
REAL_DATA = "real data"

#: What Chromium is to do without. Each window would load two pages for its address bar, which took half
#: of its CPU, and each page would start a process for the next one. What is between them is Playwright's own
#: list (1.65), which ours takes the place of.
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
    # Nobody out there is asked for: where no name is known, that takes minutes.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
    f"--disable-features={_WITHOUT.replace(' ', ',')}",
]


def pytest_configure(config: pytest.Config) -> None:
    """SIGTERM ends a run as Ctrl-C does: fixtures are torn down, servers stopped, folders removed."""
    if config.getoption("--thorough"):
        hypothesis.settings.load_profile("phrasebox-thorough")
        os.environ["PHRASEBOX_THOROUGH"] = "1"
    elif config.getoption("--nothing-left-out"):
        hypothesis.settings.load_profile("phrasebox-again")

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not break the tearing down
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Each of several processes has a DATA_DIR of its own. One that is told a module of settings reads that
    before this file, and would get ours."""
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
    """Files of which nothing runs on this database are not even read, which takes as long as many a test."""
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
    """What is loaded by now stays to the end. Looking through it for garbage took 5 to 15 % of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def pytest_runtest_teardown() -> None:
    """A page that was asked for in German leaves its thread German: the next test begins in English."""
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
    if reporter is None:  # one of several processes: what they skipped is told where all is gathered
        return
    if session.config.getoption("--nothing-left-out") and exitstatus == 0 and _unexcused(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure() -> None:
    shutil.rmtree(SCRATCH, ignore_errors=True)


def _means_something(item: pytest.Item) -> bool:
    """Whether the test is of the database that this run has."""
    from django.db import connection

    return all(connection.vendor in mark.args for mark in item.iter_markers("only_on"))


def _is_for_this_database(item: pytest.Item, thorough: bool) -> bool:
    """What uses no database runs on one of the two; so does, by default, what says nothing else."""
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
    """(test, reason) of every skipped test, save those that lack real data."""
    skipped = [(report.nodeid, str(report.longrepr[2])) for report in reporter.stats.get("skipped", ())]
    return [(test, reason) for test, reason in skipped if REAL_DATA not in reason.lower()]


def _failures(reporter: Any) -> Iterator[str]:
    """A line or two of each test that failed: its name, when, and what it came to."""
    for kind in ("failed", "error"):
        for report in reporter.stats.get(kind, ()):
            crash = getattr(report.longrepr, "reprcrash", None)
            message = crash.message if crash else str(report.longrepr)
            at = f" at {crash.path}:{crash.lineno}" if crash else ""
            beginning = textwrap.indent(message[:MESSAGE_LENGTH].strip(), "    ")
            yield f"{report.nodeid} ({report.when}{at})\n{beginning}\n"


def need(key: str) -> Path:
    """Where the component is; leaves the test out, saying what to install, where it is missing."""
    path = prepare.find(key)
    if path is None:
        component = next(c for c in prepare.COMPONENTS if c.key == key)
        pytest.skip(prepare.reason_to_skip(component))
    return path


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """SQLite in a file, as the product has it: threads and processes get connections of their own. It is a
    copy of a database that was migrated once (tests/house/product.py). PostgreSQL's tables are made of the
    models, in a fifth of the time."""
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
    """The copy is used as it is; a database of PostgreSQL only where pytest is asked to."""
    on_sqlite = settings.DATABASES["default"]["ENGINE"] == SQLITE
    return on_sqlite or bool(request.config.getoption("reuse_db"))


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """At the end, connections of threads that are gone are closed, which would keep the database."""
    with django_db_blocker.unblock():
        databases.as_migrated()
    yield
    gc.collect()


@pytest.fixture(scope="module", autouse=True)
def uncounted(django_db_blocker: Any) -> None:
    """Before each file PostgreSQL clears what was rolled back, and forgets that it saw tables empty.

    A test's rows are in a transaction that nobody else sees: what counts meanwhile (autovacuum, which the
    tests' server is without, or an ANALYZE of a test's) finds pages and no rows in them. Every later plan
    then scans tables within scans, and what takes three seconds takes thirty.
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
    """Hash passwords in no time: their strength is Django's affair."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session", autouse=True)
def serve_static_files_lazily() -> None:
    """Do not list them for every new client: that took a tenth of the time of the pages' tests."""
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(scope="session", autouse=True)
def emptied_by_deleting() -> Iterator[None]:
    """After tests that write for good; see tests/emptying.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: emptying.empty())
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
    """A Redis of this test run's own."""
    with services.redis_server(need("redis")) as url:
        yield url


@pytest.fixture
def complete(tmp_path: Path) -> Iterator[CompleteProduct]:
    """The whole product at work on an empty database, all of it in processes of its own."""
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
        # Playwright keeps an event loop in this thread, which Django takes for asynchronous code.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        chromium = playwright.chromium.launch(executable_path=executable, headless=True, args=CHROMIUM_FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(autouse=True)
def forgetful() -> None:
    """What processes remember of rows goes by ids, which databases of tests use again."""
    from django.core.cache import cache

    from annotation.quality.controls import control_pool, likeness
    from annotation.queue import image_state
    from annotation.selectors import answers, spelling
    from annotation.selectors.campaign import cached
    from annotation.selectors.controls import control_metadata
    from annotation.task_types.displayed import displayed_image

    # A busy machine would keep what a quick one counts again; tests of what is kept say so (0.0).
    cached.SLOW = float("inf")
    cache.clear()
    control_pool.cache_clear()
    likeness._known.cache_clear()
    control_metadata.cache_clear()
    displayed_image.cache_clear()
    image_state._unruled.cache_clear()
    answers.image_key.cache_clear()
    spelling.corpus_words.cache_clear()
