"""Times on pages: in UTC with their zone, for the reader's browser to convert to local time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from django.conf import settings
from django.utils import translation

from annotation.web.tags.pages import clock_time, moment

EVENING = datetime(2026, 1, 31, 23, 30, tzinfo=timezone(timedelta(hours=-5)))


def test_a_time_carries_its_zone_for_people_and_for_programs():
    assert moment(EVENING) == (
        '<time datetime="2026-02-01T04:30:00Z" data-style="moment">Feb. 1, 2026, 4:30 a.m.\xa0UTC</time>'
    )
    assert clock_time(EVENING.astimezone(UTC)).endswith('data-style="time">4:30 a.m.\xa0UTC</time>')
    assert moment(None) == clock_time(None) == ""
    with translation.override("de"):
        assert "1. Februar 2026 04:30\xa0UTC" in moment(EVENING)


def test_no_template_writes_a_time_in_another_way():
    folder = settings.BASE_DIR / "templates"
    others = [
        f"{file.relative_to(folder)}: {match[0]}"
        for file in sorted(folder.rglob("*.html"))
        for match in re.finditer(
            r'\|(date:"[^"]*(TIME|[gGhHis])[^"]*"|time\b)', file.read_text(encoding="utf-8")
        )
    ]
    assert others == []
