"""Every name that the product defines is used in the product."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from django.urls import get_resolver

from annotation.api.rest.endpoints import endpoints
from tests.conftest import REPOSITORY

PACKAGES = ("annotation", "evaluation", "models_core", "phrasebox", "scenes", "studies")
#: Names that our code does not use, and why they are kept.
NAMED_BY_NOBODY = {
    **dict.fromkeys(
        ("AnnotationConfig", "EvaluationConfig", "Command", "app_name"),
        "Django finds it",
    ),
    **dict.fromkeys(
        (
            *("authenticate", "authenticate_header", "get_parsers", "handle_exception"),
            *("select_parser", "select_renderer"),
        ),
        "DRF calls it",
    ),
    **dict.fromkeys(
        ("TokenScheme", "get_security_definition", "get_security_requirement"), "drf-spectacular finds it"
    ),
    **dict.fromkeys(
        (
            *("authenticate_by_email", "get_callback_url", "is_open_for_signup", "list_apps"),
            *("on_authentication_error", "pre_social_login"),
        ),
        "allauth calls it",
    ),
    "field_title_should_be_set": "pydantic calls it",
    "on_epoch_end": "gensim calls it",
    "forward": "torch calls it",
    "reducer_override": "pickle calls it",
    **dict.fromkeys(
        ("get_template_sources", "_get_session_from_db"),
        "Django calls it",
    ),
    **dict.fromkeys(("startElement", "endElement", "characters"), "the XML parser calls it"),
    **dict.fromkeys(
        (
            *("change_settings_job", "open_images_job"),
            *("mail_messages_job", "delete_corpus_job"),
            *(
                "propose_boxes_job",
                "send_alarms_job",
                "send_test_mail_job",
            ),
        ),
        "the registry of job kinds calls it",
    ),
    "BatchQueries": "its rows are reached from those of their batch",
    "_draw": "the registry of kinds of figures calls it",
    "load_config": "gunicorn calls it",
    "gettext_noop": "modules import it as _",
    "redirect_request": "urllib calls it",
    "replay": "the definition of a stored trust state; tests hold the queue's to it",
    "withdraw_judgments": "the definition of withdrawing answers; tests hold the queue's to it",
    "PRINTED_SYSTEMS": "the systems of Table 11 as printed; a test holds our recipes to them",
    "Exactly": "a rule of the protocol beside those of the chain, tested against them",
    "cells_of": "one set of conventions, held by a test against the tables of the paper",
}


def named(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the names that a module uses, including those in strings that name things."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                yield name
            case ast.Constant(value=str(text)) if len(text) < 200 and " " not in text:
                yield from re.findall(r"\w+", text)


def defined(tree: ast.Module, nodes: list[ast.AST]) -> Iterator[str]:
    """Yield functions, classes and methods, and the names at a module's top, without dunder names."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
    for node in tree.body:
        match node:
            case ast.Assign(targets=targets):
                created = (item for target in targets for item in ast.walk(target))
                yield from (item.id for item in created if isinstance(item, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


def product() -> Iterator[Path]:
    for package in (*PACKAGES, "config"):
        yield from (path for path in (REPOSITORY / package).rglob("*.py") if "migrations" not in path.parts)


def dead(modules: dict[str, str], templates: str = "") -> set[str]:
    """Return names that modules (name -> source) define and nothing uses; settings of `config` are
    Django's."""
    uses, values = set(re.findall(r"\w+", templates)), set[str]()
    for name, source in modules.items():
        tree = ast.parse(source)
        nodes = list(ast.walk(tree))
        uses.update(named(nodes))
        if not name.startswith("config"):
            values.update(defined(tree, nodes))
    return {name for name in values - uses if not name.startswith("__")}


def test_whatever_is_defined_is_named_somewhere_in_the_product():
    modules = {str(path.relative_to(REPOSITORY)): path.read_text() for path in product()}
    files = [*(REPOSITORY / "templates").rglob("*.*"), *(REPOSITORY / "annotation").rglob("*.html")]
    templates = "\n".join(path.read_text() for path in files)
    assert get_resolver().url_patterns, "reading the addresses enters the operations"
    operations = {endpoint.name for endpoint in endpoints()}  # the registry of operations calls them
    assert dead(modules, templates) - operations == set(NAMED_BY_NOBODY)


def test_a_function_that_nobody_calls_is_found():
    created = "def called(): ...\ndef _owner(row): ...\nKEPT, _LOST = 1, 2\nprint(called(), KEPT)\n"
    assert dead({"annotation/x.py": created}) == {"_owner", "_LOST"}
