"""schemathesis on the OpenAPI document: no server errors, only declared responses, and only allowed calls are
accepted."""

from __future__ import annotations

import functools

import pytest

from annotation.api.rest.endpoints import endpoints
from annotation.common.roles import ADMIN, ANNOTATOR, RESEARCHER, REVIEWER
from tests.api.v1.conftest import names_for_admins
from tests.api.v1.fuzzing import STRANGER, Drawn, fuzz, operations
from tests.api.v1.test_operations import openapi
from tests.api.v1.valid import UNLISTED
from tests.sizes import by_default

pytestmark = pytest.mark.django_db
ROLES_AND_STRANGERS = [STRANGER, ANNOTATOR, ADMIN, REVIEWER, RESEARCHER]
#: Calls of a role in the default run and in the thorough one, over all operations.
FEW, MANY = 150, 20_000


@functools.cache
def drawn() -> list[Drawn]:
    """The operations of the document and their cases, the same for all roles."""
    return operations(openapi())


def calls_each(calls: int) -> int:
    """Return the number of calls of each operation, for a total of `calls` per role."""
    return -(-calls // len(drawn()))


@pytest.mark.parametrize("role", by_default(3, ROLES_AND_STRANGERS))
def test_no_call_breaks_anything_or_is_answered_as_the_document_does_not_tell(
    everything: None, role: str
) -> None:
    """Dearer than a test may be: one world, and a call of each operation by each role. Who may do what is
    tested in `web/test_roles`, so by default nobody calls who may do a part of what an admin may."""
    result = fuzz(openapi(), drawn(), role, calls_each(FEW))
    print(result)
    assert not result.failures, result.failures_text
    assert result.calls >= FEW
    if role in (RESEARCHER, ADMIN):
        assert 3 * result.successes >= result.calls


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES_AND_STRANGERS)
def test_twenty_thousand_calls_of_a_role(everything: None, role: str) -> None:
    result = fuzz(openapi(), drawn(), role, calls_each(MANY))
    print(result)
    assert not result.failures, result.failures_text
    assert result.calls >= MANY
    if role in (RESEARCHER, ADMIN):
        others = UNLISTED if role == ADMIN else names_for_admins()
        assert {endpoint.name for endpoint in endpoints()} - others <= set(+result.succeeded)
        assert 3 * result.successes >= result.calls
