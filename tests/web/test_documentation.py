"""The documentation under /docs/: for signed-in users, if it was built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.web import world as people

pytestmark = pytest.mark.django_db


@pytest.fixture
def site(tmp_path: Path, settings) -> Path:
    """A documentation of two pages, beside a file outside it."""
    settings.DOCS_SITE = tmp_path / "site"
    settings.DOCS_SITE.mkdir()
    (settings.DOCS_SITE / "index.html").write_text("All pages")
    (settings.DOCS_SITE / "trust.html").write_text("Control items")
    (tmp_path / "secret.txt").write_text("none of it")
    return settings.DOCS_SITE


@pytest.fixture
def reader() -> Client:
    client = Client()
    client.force_login(people.account("ada"))
    return client


def contents(response: Any) -> bytes:
    """Return the file that was sent."""
    return b"".join(response.streaming_content)


def test_a_signed_in_reader_gets_pages_and_nothing_beside_them(site: Path, reader: Client):
    assert contents(reader.get("/docs/")) == b"All pages"
    assert contents(reader.get("/docs/trust.html")) == b"Control items"
    assert reader.get("/docs/../secret.txt").status_code == 404
    assert reader.get("/docs/%2e%2e/secret.txt").status_code == 404
    assert reader.get("/docs/none.html").status_code == 404


def test_others_sign_in_first(site: Path):
    answer = Client().get("/docs/trust.html")
    assert answer.status_code == 302
    assert answer["Location"] == "/sign-in/?next=/docs/trust.html"


def test_where_it_is_not_built_the_page_says_how_to(settings, tmp_path: Path, reader: Client):
    settings.DOCS_SITE = tmp_path / "nothing"
    answer = reader.get("/docs/")
    assert answer.status_code == 404
    assert "make docs" in answer.content.decode()


def test_pages_link_the_documentation_that_fits_them(reader: Client):
    assert 'href="/docs/accounts.html"' in reader.get("/account/").content.decode()
    assert "/docs/" not in Client().get("/sign-in/").content.decode()
