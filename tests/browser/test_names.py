"""The accessibility trees of twenty pages: headings, regions, fields and buttons, by name.

The snapshots are in `names/`, a file for each page, as Playwright writes them. What differs from run to run
(numbers, dates, random names) is "…" there. After an intended change:

    WRITE_NAMES=1 python -m pytest tests/browser/test_names.py --thorough
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

import pytest

from tests.browser.conftest import Open, sign_in
from tests.browser.test_all_pages import addresses
from tests.web import world as people
from tests.web.test_roles import built

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
NAMES = Path(__file__).parent / "names"
#: The most used page of each part of the site, and the forms that change most.
ROUTES = (
    "home",
    "tasks",
    "account",
    "earnings",
    "campaigns",
    "campaign",
    "review",
    "workers",
    "worker",
    "payments",
    "control_item_list",
    "change_settings",
    "draft_step questions",
    "corpus",
    "uploads",
    "people",
    "audit",
    "notifications",
    "evaluation:systems",
    "evaluation:new_batch",
)
#: Times, pseudonyms, other random names and numbers, except the level of a heading: each is "…".
_VARIES = re.compile(
    r"(?:\b[A-Z][a-z]{2,8}\.? \d{1,2}, \d{4},?|\d+/\d+/\d{4})(?: (?:[\d:]+ [ap]\.m\.|noon|midnight))?"
    r"|\bw-[0-9a-z]{8,}\b|\b[0-9a-f]{6,}\b|(?<!level=)\b\d+(?:[.,:]\d+)*"
)


def names_of(snapshot: str) -> str:
    """Return a snapshot without what differs from run to run."""
    lines = [line for line in snapshot.splitlines() if "/url:" not in line]
    return _VARIES.sub("…", "\n".join(lines)) + "\n"


def test_pages_have_the_names_of_their_snapshots(open_page: Open) -> None:
    world = built()
    account = people.account("boss", "admin")
    result = addresses(world, account)
    page = open_page()
    sign_in(page, "boss")
    changed: list[str] = []
    for route in ROUTES:
        page.goto(result[route])
        names = names_of(page.locator("body").aria_snapshot())
        stored = NAMES / f"{re.sub('[ :]', '_', route)}.yaml"
        if os.environ.get("WRITE_NAMES"):
            stored.write_text(names)
        if names != (before := stored.read_text()):
            changed += difflib.unified_diff(
                before.splitlines(), names.splitlines(), route, "now", lineterm=""
            )
    assert not changed, "\n".join(changed)


def test_numbers_dates_and_random_names_are_left_out() -> None:
    lines = [
        '- heading "Wave 3, 5 of 12" [level=2]',
        "- text: Nov. 26, 2026, 4:17 a.m., 11/26/2026 noon, w-ab12cd34efgh, 1,234.5 USD, 04:17",
        '- link "as in Flickr30k":',
        "  - /url: /a/7/",
    ]
    values = [
        '- heading "Wave …, … of …" [level=2]',
        "- text: …, …, …, … USD, …",
        '- link "as in Flickr30k":',
    ]
    assert names_of("\n".join(lines)) == "\n".join(values) + "\n"
