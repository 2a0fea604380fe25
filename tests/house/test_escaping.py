"""Django escapes what a template shows; exceptions are the product's own texts."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TEMPLATES = [
    file for room in ("annotation", "evaluation", "templates") for file in (REPOSITORY / room).rglob("*.html")
]
#: Shown without escaping: Django's own help texts of passwords, which are HTML.
AS_IT_IS = {"templates/annotation/entry/_field.html": {"field.help_text|safe"}}


def test_no_template_shows_anything_unescaped_but_what_is_named_here() -> None:
    result: dict[str, set[str]] = {}
    assert len(TEMPLATES) > 100
    for template in TEMPLATES:
        text = template.read_text()
        matches = set(re.findall(r"\{\{\s*([^}]*\|\s*safe(?:seq)?\b[^}]*?)\s*\}\}", text))
        matches |= set(re.findall(r"\{%\s*(autoescape off|filter safe)", text))
        if matches:
            result[template.relative_to(REPOSITORY).as_posix()] = matches
    assert result == AS_IT_IS
