"""The docs contain the program's output."""

from pathlib import Path

from annotation.protocol.boxes import mermaid

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def test_the_docs_draw_the_table_that_runs():
    assert mermaid() in (DOCS / "protocol.md").read_text(encoding="utf-8")
