"""Lists of corpora and campaigns: searched, sorted and paged by their address, each row on one page."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Campaign, Corpus
from annotation.web.corpus import browse
from annotation.web.staff import campaigns

pytestmark = pytest.mark.django_db


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Seven corpora with a campaign each, on pages of three."""
    monkeypatch.setattr(browse, "CORPORA_PER_PAGE", 3)
    monkeypatch.setattr(campaigns, "CAMPAIGNS_PER_PAGE", 3)
    names = ["delta", "alpha", "golf", "bravo", "foxtrot", "echo", "charlie"]
    for n, name in enumerate(names):
        corpus = Corpus.objects.create(
            name=name, format="test", source=name, image_count=n // 2, published=True
        )
        state = Campaign.PAUSED if n % 2 else Campaign.OPEN
        Campaign.objects.create(name=name, corpus=corpus, tasks="relevance", state=state)
    return names


def rows_on(client: Client, route: str, query: str) -> tuple[list[str], str]:
    """Return the names on a page, and the address of the next, "" at the end."""
    page = client.get(reverse(route) + query)
    text = page.content.decode()
    assert page.status_code == 200
    names = re.findall(r'<h2><a href="/(?:corpora|campaigns)/([^/]+)/">', text)
    return names, page.context["page"].later


def every(client: Client, route: str, query: str) -> list[str]:
    """Return the names on all pages from this address on."""
    names, later = rows_on(client, route, query)
    while later:
        more, later = rows_on(client, route, later)
        names += more
    return names


@pytest.mark.parametrize("route", ["home", "campaigns"])
def test_every_row_stands_on_one_page_in_the_order_asked_for(reader: Client, many: list[str], route: str):
    assert len(rows_on(reader, route, "")[0]) == 3
    assert every(reader, route, "?sort=name") == sorted(many)
    assert every(reader, route, "?sort=name&down=1") == sorted(many, reverse=True)
    assert every(reader, route, "?sort=new&down=1") == many[::-1]


def test_equal_values_are_told_apart_across_pages(reader: Client, many: list[str]):
    result = every(reader, "home", "?sort=images&down=1")
    assert sorted(result) == sorted(many)
    assert [many.index(name) // 2 for name in result] == [3, 2, 2, 1, 1, 0, 0]


def test_campaigns_come_newest_first_and_corpora_by_name_where_nothing_is_asked(
    reader: Client, many: list[str]
):
    assert every(reader, "campaigns", "") == many[::-1]
    assert every(reader, "home", "") == sorted(many)


@pytest.mark.parametrize("route", ["home", "campaigns"])
def test_a_search_finds_parts_of_names(reader: Client, many: list[str], route: str):
    assert sorted(every(reader, route, "?find=LPH")) == ["alpha"]
    assert every(reader, route, "?find=o&sort=name") == ["bravo", "echo", "foxtrot", "golf"]
    page = reader.get(reverse(route) + "?find=zulu").content.decode()
    assert "matches." in page and 'href="?">Show all' in page


def test_campaigns_are_filtered_by_state_and_the_filter_stays_across_pages(reader: Client, many: list[str]):
    paused = [name for n, name in enumerate(many) if n % 2]
    assert every(reader, "campaigns", "?state=paused&sort=name") == sorted(paused)
    assert len(every(reader, "campaigns", "?state=open&sort=name")) == 4
    assert len(every(reader, "campaigns", "?state=nonsense")) == len(many)


@pytest.mark.parametrize(
    "query",
    [
        "?after=x",
        "?after=,1",
        "?after=99999999999999999999,5",
        "?sort=nonsense&down=3",
        "?sort=images&after=many,1",
        "?find=%00",
        "?sort=new&after=-1,%C2%B2",
    ],
)
@pytest.mark.parametrize("route", ["home", "campaigns"])
def test_an_address_that_makes_no_sense_shows_the_list(
    reader: Client, many: list[str], route: str, query: str
):
    assert rows_on(reader, route, query)[0]
