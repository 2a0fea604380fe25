"""Every text of a page is translated to every language, with its placeholders, and compiled."""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polib  # type: ignore[import-untyped]
import pytest
from django.conf import settings
from django.utils.translation.template import templatize

from annotation import instructions
from tests.house.product import REPOSITORY

ROOMS = ("annotation", "config", "evaluation", "models_core")
MARKED = re.compile(r"n?gettext(_lazy|_noop)?|_")
#: In the output of `templatize`: a call, with one literal or two.
LITERAL = r"""u?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
CALL = re.compile(rf"\b(?:n?gettext|_)\(\s*{LITERAL}(?:\s*,\s*{LITERAL})?")
PLACES = re.compile(r"%\(\w+\)[a-z]|%%\w?|%[a-z]\b|<[^>]*>")
LANGUAGES = [code for code, _ in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
#: One text, and its plural ("" if it has none).
Message = tuple[str, str]

in_each_language = pytest.mark.parametrize("language", LANGUAGES)


@cache
def messages() -> dict[Message, str]:
    """Return every marked text, with a file that contains it."""
    result: dict[Message, str] = {}
    for room in ROOMS:
        for path in sorted((REPOSITORY / room).rglob("*.py")):
            result.update(dict.fromkeys(_in_code(path), path.relative_to(REPOSITORY).as_posix()))
    pages = [path for path in (REPOSITORY / "templates").rglob("*") if path.suffix in (".html", ".txt")]
    pages += [path for room in ROOMS for path in (REPOSITORY / room).rglob("*.html")]
    for path in sorted(pages):
        result.update(dict.fromkeys(_in_template(path), path.relative_to(REPOSITORY).as_posix()))
    return result


def _in_code(path: Path) -> Iterator[Message]:
    source = path.read_text(encoding="utf-8")
    if "gettext" not in source:  # it imports nothing to mark a text with
        return
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if not MARKED.fullmatch(name):
            continue
        values = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
        words = [value for value in values if isinstance(value, str)]
        if words:
            yield words[0], words[1] if name.startswith("n") else ""


def _in_template(path: Path) -> Iterator[Message]:
    for item, many in CALL.findall(templatize(path.read_text(encoding="utf-8"))):
        yield ast.literal_eval(item), ast.literal_eval(many) if many else ""


@cache
def catalog(language: str) -> polib.POFile:
    return polib.pofile(str(_messages(language, "po")))


def _messages(language: str, suffix: str) -> Path:
    return REPOSITORY / "locale" / language / "LC_MESSAGES" / f"django.{suffix}"


def _words(entry: polib.POEntry) -> list[str]:
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


@in_each_language
def test_every_text_is_translated(language: str) -> None:
    done = {(entry.msgid, entry.msgid_plural) for entry in catalog(language) if entry.translated()}
    missing = {text[0]: file for text, file in messages().items() if text not in done}
    assert len(messages()) > 700
    assert missing == {}, f"run `make messages`, then translate these in locale/{language}"


@in_each_language
def test_no_translation_is_a_guess_or_of_what_nobody_says(language: str) -> None:
    assert [entry.msgid for entry in catalog(language) if entry.fuzzy or entry.obsolete] == []
    extra = {entry.msgid for entry in catalog(language)} - {item for item, _ in messages()}
    assert extra == set(), "run `make messages`"


@in_each_language
def test_a_translation_has_the_places_and_the_marks_of_its_text(language: str) -> None:
    invalid = {}
    for entry in catalog(language):
        matches = {tuple(sorted(PLACES.findall(text))) for text in (entry.msgid, entry.msgid_plural) if text}
        if any(tuple(sorted(PLACES.findall(word))) not in matches for word in _words(entry)):
            invalid[entry.msgid] = _words(entry)
    assert invalid == {}


@in_each_language
def test_what_is_compiled_is_what_is_translated(language: str) -> None:
    with _messages(language, "mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    stale = [
        entry.msgid
        for entry in catalog(language)
        if [compiled.gettext(entry.msgid)] != _words(entry)
        and not entry.msgid_plural
        or entry.msgid_plural
        and compiled.ngettext(entry.msgid, entry.msgid_plural, 2) != _words(entry)[-1]
    ]
    assert stale == [], "run `make messages`"


@in_each_language
@pytest.mark.parametrize("kind", instructions.known_texts())
def test_instructions_say_the_same_paragraph_by_paragraph(language: str, kind: str) -> None:
    text = instructions.built_in_text(kind)
    translated = instructions.text_in_language(text, language)
    assert translated.text != text.text
    assert translated.version == text.version
    assert [part.sort for part in translated.paragraphs] == [part.sort for part in text.paragraphs]
