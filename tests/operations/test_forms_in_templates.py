"""The fields of an operation's form in a template are fields of its request."""

import re
from dataclasses import fields
from pathlib import Path

from django.conf import settings

from annotation.common.operations import all_operations

FORM = re.compile(r"<form[^>]*?action=\"{% url 'operation' '(\w+)'.*?</form>", re.DOTALL)
#: The page that follows.
OF_THE_PAGE = {"next"}


def test_each_field_of_a_form_is_one_of_its_operation() -> None:
    requests = {operation.name: operation.request for operation in all_operations()}
    unknown, forms = [], 0
    for template in (Path(settings.BASE_DIR) / "templates").rglob("*.html"):
        for form in FORM.finditer(template.read_text()):
            forms += 1
            names = set(re.findall(r'\bname="(\w+)"', form[0])) - OF_THE_PAGE
            if names - {field.name for field in fields(requests[form[1]])}:
                unknown.append((template.name, form[1], names))
    assert forms > 50 and unknown == []
