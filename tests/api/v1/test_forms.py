"""A call takes what the form of the page that does the same asks for: a new field of one belongs to both."""

from __future__ import annotations

import re
from typing import Any

import pytest

from evaluation.api.features import RegionsSent
from tests.conftest import REPOSITORY

#: The call's fields, the page's template, and where its form leads.
FORMS: dict[str, tuple[Any, str, str]] = {
    "extract": (RegionsSent, "features.html", "evaluation:extract_features"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_call_takes_what_the_form_of_its_page_asks_for(form: str) -> None:
    fields, template, leads = FORMS[form]
    text = (REPOSITORY / "templates" / "evaluation" / template).read_text()
    start = text.index(f"{{% url '{leads}'") if f"{{% url '{leads}'" in text else text.index("<form")
    asked = set(re.findall(r' name="(\w+)"', text[start : text.index("</form>", start)]))
    assert asked and asked <= set(fields().fields)
