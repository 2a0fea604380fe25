"""Every act that the code writes to the audit has a title, and a group for searching."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import product

from django.apps import apps

from annotation.models import AuditEntry
from annotation.selectors.people.audit import AUDIT_GROUPS, group_of_act
from annotation.web.staff.wording import ACTS
from evaluation.models.stored import ArchivableRow
from evaluation.services.stored import STORED_ROWS, remove_act
from tests.house.product import REPOSITORY

ROOMS = ("annotation", "evaluation", "config")
#: Functions of other modules that write an act: its position among their arguments, None: keyword only.
_WRITERS = {
    "record": None,
    "note_addition": 0,
    "note_webhook": 2,
    "change_campaign_settings": None,
    "change_some_settings": None,
}
#: What a file contains that writes an act; the others need no parsing.
_MENTIONS_ACTS = re.compile(rf"\b(act|{'|'.join(_WRITERS)})\b")


@cache
def acts() -> dict[str, set[str]]:
    """Return the acts of each package: the values of `act`, by keyword or by position."""
    result: dict[str, set[str]] = {room: set() for room in ROOMS}
    for room in ROOMS:
        for path in (REPOSITORY / room).rglob("*.py"):
            source = path.read_text()
            if "migrations" not in path.parts and _MENTIONS_ACTS.search(source):
                result[room].update(_acts_in(ast.parse(source)))
    result["annotation"].add(AuditEntry.CHANGE_ANSWER)
    result["evaluation"].update(
        f"{way}_{model._meta.verbose_name}"
        for way, model in product(("archive", "unarchive"), apps.get_app_config("evaluation").get_models())
        if issubclass(model, ArchivableRow)
    )
    result["evaluation"].update(remove_act(model) for model in STORED_ROWS)
    return result


def _acts_in(module: ast.Module) -> Iterator[str]:
    nodes = list(ast.walk(module))
    places: dict[str, int | None] = dict(_WRITERS)
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            names = [keyword.arg for keyword in (*node.args.posonlyargs, *node.args.args)]
            if "act" in names:
                places[node.name] = names.index("act")
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in places:
            continue
        index, errors = places[name], [keyword.value for keyword in node.keywords if keyword.arg == "act"]
        errors += node.args[index : index + 1] if index is not None else []
        for value in errors:
            for part in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def test_every_act_has_words_and_every_word_an_act() -> None:
    result = set().union(*acts().values())
    assert len(result) > 70
    # A setting's change is recorded under the default of its function.
    assert result | {"change_settings"} == set(ACTS)


def test_every_act_is_found_by_a_group_and_those_of_evaluation_by_its_own() -> None:
    result = acts()
    assert {group_of_act(act, "") for act in result["evaluation"]} == {"evaluation"}
    assert {group_of_act(act, about) for act in result["annotation"] for about in ("", "quay")} <= {
        *AUDIT_GROUPS
    }
    assert group_of_act("set_licence", "") == "corpora"
    assert (group_of_act("restore", ""), group_of_act("make_webhook", "quay")) == ("server", "campaigns")
