"""Error pages: calm texts, no internal details, and nothing that a browser would refuse to run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template.loader import render_to_string
from django.test import Client, override_settings
from django.urls import reverse

from annotation.models import Corpus
from annotation.web.corpus import browse as pages
from tests.web import world

ROOMS = [Path(settings.BASE_DIR) / room for room in ("annotation", "evaluation", "templates")]
TEMPLATES = sorted(path for room in ROOMS for path in room.rglob("*.html"))
#: A report as one file, and its parts, which its page shows too: in English, like papers.
DOCUMENT = "report_document.html"
OF_REPORTS = {
    DOCUMENT,
    "_report_inputs.html",
    "_report_sections.html",
    "_report_table.html",
}


@pytest.mark.django_db
def test_an_address_that_nobody_knows_is_not_found_calmly(reader: Client):
    answer = reader.get("/nothing/here/")
    page = answer.content.decode()
    assert answer.status_code == 404
    assert "nothing at this address" in page
    assert "Resolver404" not in page


@pytest.mark.django_db
def test_a_stranger_gets_the_same_page():
    answer = Client().get("/nothing/here/")
    assert (answer.status_code, "nothing at this address" in answer.content.decode()) == (404, True)


@pytest.mark.django_db
def test_what_was_not_found_is_named_and_escaped(reader: Client, scenes: Corpus):
    answer = reader.get("/corpora/scenes/images/<script>alert(1)<script>/")
    assert answer.status_code == 404
    assert "has no image “&lt;script&gt;" in answer.content.decode()


@pytest.mark.django_db
@override_settings(DEBUG_PROPAGATE_EXCEPTIONS=False)
def test_a_broken_page_shows_no_insides(monkeypatch: pytest.MonkeyPatch):
    def broken(*args: object, **more: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(pages.browse, "corpus_rows", broken)
    client = world.signed_in("eve", "researcher")
    client.raise_request_exception = False
    answer = client.get(reverse("home"))
    page = answer.content.decode()
    assert answer.status_code == 500
    assert "Something went wrong on our side" in page
    assert "secret detail" not in page


@pytest.mark.django_db
def test_a_bad_request_has_its_page():
    answer = Client().get("/", headers={"host": "elsewhere.example"})
    assert answer.status_code == 400
    assert "does not understand this request" in answer.content.decode()


@pytest.mark.parametrize("name", ["400", "403", "403_csrf", "404", "500", "503"])
def test_an_error_page_needs_nothing_but_itself(name: str):
    assert "<h1>" in render_to_string(f"{name}.html")


def inline_code(template: Path) -> list[str]:
    """Return a template's parts that a browser would refuse to run, or to load from elsewhere."""
    text = template.read_text()
    if template.name == DOCUMENT:  # a downloaded file contains its own style; no page shows it
        text = re.sub(r"<style>.*?</style>", "", text, flags=re.S)
    response = (
        r"\sstyle\s*=|\son\w+\s*=\s*[\"']|<style|javascript:",
        r"<script(?![^>]*\bsrc=)",
        r"(?:src|href)=\"(?:https?:)?//",
    )
    return [item[0] for pattern in response for item in re.finditer(pattern, text)]


def test_no_template_holds_inline_code():
    result = {template: inline_code(template) for template in TEMPLATES}
    assert len(result) > 100
    assert {name: what for name, what in result.items() if what} == {}


def test_a_page_says_that_what_it_shows_of_a_report_is_english():
    page = next(path for path in TEMPLATES if path.name == "report.html").read_text()
    listed = [line for line in page.splitlines() if "include" in line and "evaluation/_report_" in line]
    assert listed and all('lang="en"' in line for line in listed)


def bare_words(template: Path) -> set[str]:
    """Return a template's words outside gettext, except those that are the same in every language."""
    text = re.sub(r"\{% blocktranslate.*?\{% endblocktranslate %\}", "", template.read_text(), flags=re.S)
    text = re.sub(r"\{% block docs_page %\}.*?\{% endblock %\}", "", text)
    text = re.sub(r"<(?:code|kbd|title)[^>]*>.*?</(?:code|kbd|title)>", "", text, flags=re.S)
    text = re.sub(r"\{%.*?%\}|\{#.*?#\}|\{\{.*?\}\}|<[^>]*>", " ", text, flags=re.S)
    text = re.sub(r"&\w+;", " ", text)
    names = {
        "Phrasebox",
        "px",
        "BLEU",
        "pre",
        "CSV",
        "JSON",
        "JSONL",
        "AP",
        "IoU",
        "Parquet",
        "LaTeX",
        "SHA",
    }  # the same in every language
    classes = {"narrow", "wide", "sentences", "tags"}
    return set(re.findall(r"[A-Za-z]{2,}", text)) - names - classes


def test_every_word_of_the_templates_goes_through_gettext():
    result = {template: bare_words(template) for template in TEMPLATES if template.name not in OF_REPORTS}
    assert len(result) > 100
    assert {name: words for name, words in result.items() if words} == {}
