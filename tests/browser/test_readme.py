"""Follow the README exactly: its commands, choices and keys.

The slow run does so on a clean checkout, in the demonstration that `make demo` makes there, and in a smaller
one on the tests' own server. The default run looks for the named links in the product.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.core.cache import cache
from django.core.management import call_command
from playwright.sync_api import Browser, Page, TimeoutError, expect

from config.demonstration import evaluating
from config.management.commands import demo
from tests.browser.at_work import WORKING
from tests.browser.conftest import Open
from tests.house.product import REPOSITORY
from tests.services import free_port, until_it_answers

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
#: Maximum number of clicks, keys and fields of a newcomer.
MOST_ACTIONS = 40
#: Maximum number of their answers until a chain is finished: some questions only serve to assess them.
MOST_ANSWERS = 25
#: Seconds that the demonstration takes on a slow and busy machine.
PATIENCE = 400
#: Reduced sizes of the demonstration: enough for systems to differ as in the full one.
SMALL = {"IMAGES": 100, "STUDY_IMAGES": 2, "WORKERS": 8, "MIX": "careful=8", "PEOPLE_DONE": 4}


def section(title: str) -> str:
    """Return the README's text under a heading."""
    match = re.search(rf"^###? {title}\n(.*?)(?=^###? )", README, re.M | re.S)
    assert match, f"the README has no part {title!r}"
    return match[1]


def commands(title: str) -> list[str]:
    """Return the commands of that part, without comments."""
    blocks = re.findall(r"^```sh\n(.*?)^```", section(title), re.M | re.S)
    return [line.partition("#")[0].strip() for block in blocks for line in block.splitlines()]


def steps(title: str) -> list[str]:
    """Return the numbered steps of that part."""
    return re.findall(r"^\d+\. (.*?)(?=^\d+\. |\Z)", section(title), re.M | re.S)


def chosen(step: str) -> list[str]:
    """Return the links and buttons that a step names."""
    return [" ".join(name.split()) for name in re.findall(r"\*\*(.+?)\*\*", step, re.S)]


@dataclass
class Demonstration:
    """A running demonstration: its address, its output, and a function that calls its commands."""

    address: str
    printed: str
    manage: Callable[..., str]

    def boxed(self) -> int:
        """Return the number of chains with all their boxes, by the command that the README names."""
        message = self.manage("campaign_status", "people", "--json")
        return int(json.loads(message.splitlines()[-1])["progress"]["chains"]["BOXED"])


def bare(folder: Path) -> dict[str, str]:
    """Return an environment without settings."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}


def check_out(folder: Path) -> None:
    """Check out the last commit, with packages as if `make` had just installed them."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=REPOSITORY, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    installed = folder / ".venv"
    installed.mkdir()
    for entry in Path(sys.prefix).iterdir():
        if entry.name not in ("runtime", "development"):  # `make` records its installations there
            (installed / entry.name).symlink_to(entry)
    (installed / "runtime").touch()


@pytest.fixture
def small(
    django_db_reset_sequences: None, live_server, tmp_path: Path, settings, monkeypatch
) -> Demonstration:
    """The demonstration with half of the images, made in this process, on the tests' own server.

    A simulated play depends on row ids: with others, one or two questions "Is a box missing?" were left, and
    once in a whole run there was none at all. So ids begin with 1, as in a new database.
    """
    settings.DATA_DIR = tmp_path / "data"
    for name, value in SMALL.items():
        monkeypatch.setattr(demo, name, value)
    monkeypatch.setattr(evaluating, "DEMO_ROUNDS", 200)
    monkeypatch.setenv("DEMO_SERVE", "0")

    def manage(command: str, *arguments: str) -> str:
        text = io.StringIO()
        cache.clear()  # a command is a separate process, with a cache of its own
        call_command(command, *arguments, stdout=text)
        cache.clear()
        return text.getvalue()

    return Demonstration(live_server.url, manage("demo"), manage)


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Demonstration]:
    """The README's first command, until it serves; at the port that it lets the user choose."""
    folder, port = tmp_path / "checkout", free_port()
    folder.mkdir()
    check_out(folder)
    text = tmp_path / "said.txt"
    with text.open("wb") as out:
        process = subprocess.Popen(
            commands("Two commands")[0],
            shell=True,
            cwd=folder,
            env={**bare(folder), "DEMO_PORT": str(port)},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def manage(*arguments: str) -> str:
        return subprocess.run(
            [".venv/bin/python", "manage.py", *arguments],
            cwd=folder,
            env=bare(folder),
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    try:
        until_it_answers(port, process, seconds=PATIENCE)
        yield Demonstration(f"http://127.0.0.1:{port}", text.read_text(), manage)
    except OSError as error:
        raise AssertionError(f"{error}; it said:\n{text.read_text()}") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


class Newcomer:
    """A user at the page who only has the README, and the number of their actions."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actions = 0

    def fill(self, label: str, text: str) -> None:
        self.page.get_by_label(label).fill(text)
        self.actions += 1

    def choose(self, name: str) -> None:
        """Click the link or button with this name; a list also shows a description after it."""
        named = re.compile(rf"^{re.escape(name)}( ?:.*)?$")
        region = self.page.get_by_role("link", name=named).or_(self.page.get_by_role("button", name=named))
        try:
            region.first.click()
        except TimeoutError as error:
            text = self.page.locator("main").inner_text()
            raise AssertionError(f"no {name!r} on {self.page.url}, which says:\n{text}") from error
        self.page.wait_for_load_state("load")
        self.actions += 1

    def press(self, key: str) -> None:
        """Press a key when the question could be read; wait for the next one."""
        self.page.wait_for_function(WORKING)
        self.page.locator("[data-picture]").evaluate("picture => picture.decode().then(() => null)")
        self.page.wait_for_timeout(300)
        held = int(self.page.locator("[data-answer] [name=assignment]").get_attribute("value") or 0)
        self.page.keyboard.press(key)
        self.actions += 1
        # The last question of its kind is followed by a page that says so.
        self.page.wait_for_function(
            "held => Number(document.querySelector('[name=assignment]')?.value) !== held", arg=held
        )


@pytest.mark.slow
def test_a_newcomer_finishes_a_chain_and_compares_systems_by_the_readme_alone(
    checkout: Demonstration, browser: Browser
) -> None:
    page = browser.new_page(base_url=checkout.address)
    goes_by_the_readme(checkout, page)
    page.context.close()


def test_what_the_readme_says_to_choose_is_called_so_in_the_product() -> None:
    parts = [steps(f"As {who}") for who in ("a manager", "an annotator", "a researcher")]
    names = {name for step in ([section("First clicks")], *parts) for text in step for name in chosen(text)}
    folders = ("templates", "annotation", "evaluation", "config")
    files = [file for folder in folders for file in (REPOSITORY / folder).rglob("*.*")]
    words = "\n".join(file.read_text() for file in files if file.suffix in (".html", ".py"))
    assert len(names) > 10 and {name for name in names if name not in words} == set()


@pytest.mark.slow  # the default run looks for its names; `tests/demonstration` makes the linked objects
def test_what_the_readme_says_to_choose_and_to_press_leads_through_a_small_demonstration(
    small: Demonstration, open_page: Open
) -> None:
    goes_by_the_readme(small, open_page(base_url=small.address))


def goes_by_the_readme(demonstration: Demonstration, page: Page) -> None:
    """Follow the README's numbered steps, and check their promises."""
    opening = section("First clicks")
    agreeing, beginning, answering, looking = steps("As an annotator")
    account = re.search(r"Sign in as '(\w+)',? (?:with the )?password (\S+)", demonstration.printed)
    assert account, demonstration.printed
    assert "http://127.0.0.1:8000" in opening

    newcomer = Newcomer(page)
    page.goto("/")
    newcomer.fill("User name", account[1])
    newcomer.fill("Password", account[2])
    for name in chosen(opening):
        newcomer.choose(name)
    manages(newcomer)
    for step in (agreeing, beginning):
        for name in chosen(step):
            newcomer.choose(name)

    before = demonstration.boxed()
    keys = re.findall(r"`(\w)`", answering)
    for _answer in range(MOST_ANSWERS):
        newcomer.press(keys[0])
        if demonstration.boxed() > before:
            break

    for name in chosen(looking):
        newcomer.choose(name)
    row = page.get_by_role("row", name="boxed")
    expect(row).to_be_visible()
    assert int(re.sub(r"\D", "", row.get_by_role("cell").first.inner_text())) > before
    assert newcomer.actions <= MOST_ACTIONS
    compares(newcomer)


def manages(newcomer: Newcomer) -> None:
    """View the campaign as its manager, and check each step's promise."""
    page = newcomer.page
    campaign, workers, setting = steps("As a manager")
    for name in chosen(campaign):
        newcomer.choose(name)
    expect(page.get_by_role("row", name="boxed")).to_be_visible()
    for name in chosen(workers):
        newcomer.choose(name)
    expect(page.get_by_role("link", name=re.compile(r"sim\d+-random-"))).to_be_visible()
    settings, exports = chosen(setting)
    newcomer.choose(settings)
    expect(page.get_by_role("heading", name="Stop rules", exact=True).first).to_be_visible()
    newcomer.choose(exports)
    expect(page.locator("select[name=format]")).to_be_visible()


def compares(newcomer: Newcomer) -> None:
    """Follow the README's steps on evaluation, and check that figures differ as they should."""
    page = newcomer.page
    judged, comparing, reported, waiting = steps("As a researcher")
    for name in chosen(judged):
        newcomer.choose(name)
    for bad in ("always_yes", "random"):  # a good one may have been unlucky as well
        judge = page.get_by_role("row").filter(has_text=re.compile(rf"sim\d+-{bad}-"))
        expect(judge.get_by_text("no: answers withdrawn")).to_be_visible()
    newcomer.choose(*chosen(comparing))
    text = {
        run: [float(cell.strip("*")) for cell in cells]
        for run, *cells in (
            row.inner_text().split("\t") for row in page.locator("table.numbers tbody tr").all()
        )
    }
    assert len(text) == 8
    for direction in ("annotation", "search"):
        chance, near, kcca, oracle = (
            text[f"{system}-{direction}"][0] for system in ("chance", "near", "kcca", "oracle")
        )
        assert chance < min(near, kcca) and max(near, kcca) < oracle, "R@1"
    for name in chosen(reported):
        newcomer.choose(name)
    expect(page.locator("figure svg").first).to_be_visible()
    *leading, again = chosen(waiting)
    for name in leading:
        newcomer.choose(name)
    expect(page.get_by_role("button", name=again)).to_be_visible()
