"""schemathesis on the OpenAPI document: nothing breaks, and every answer is one that the document tells."""

from __future__ import annotations

import pytest

from annotation.api.rest.operations import served
from annotation.common.roles import ADMIN, ANNOTATOR, RESEARCHER, REVIEWER
from tests.api.v1.conftest import names_for_admins
from tests.api.v1.fuzzing import STRANGER, fuzz
from tests.api.v1.test_operations import openapi

pytestmark = pytest.mark.django_db
#: Calls of each operation by a role, in the usual run and in the thorough one.
FEW, MANY = 3, 240


def test_no_call_of_a_researcher_breaks_anything_or_is_answered_as_the_document_does_not_tell(
    everything: None,
) -> None:
    """Dearer than a test may be: it is one world and some three hundred calls."""
    found = fuzz(openapi(), RESEARCHER, FEW)
    print(found)
    assert found.calls >= 250 and 3 * found.successes >= found.calls


@pytest.mark.slow
@pytest.mark.parametrize("role", [STRANGER, ANNOTATOR, REVIEWER, RESEARCHER, ADMIN])
def test_twenty_thousand_calls_of_a_role(everything: None, role: str) -> None:
    found = fuzz(openapi(), role, MANY)
    print(found)
    assert found.calls >= 20_000
    if role in (RESEARCHER, ADMIN):
        # The valid call of one is about a token of the researcher.
        others = {"token_revoke"} if role == ADMIN else names_for_admins()
        assert {one.name for one in served()} - others <= set(+found.succeeded)
        assert 3 * found.successes >= found.calls
