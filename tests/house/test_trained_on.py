"""Every import of a system's output accepts a declaration of its training data, in every interface."""

from __future__ import annotations

from pathlib import Path

from django.core.management import get_commands

from annotation.api.rest.endpoints import endpoints
from annotation.common.operations import request_fields
from tests.house.product import command_named

#: Files of evaluation that contain no output of a system: by command or route, and why.
NO_OUTPUT = {
    "agreement": "what people judged",
    "import_judgments": "what people judged",
    "import_qrels": "what is relevant",
    "judgment_sets": "what people judged",
    "qrels": "names of images",
}


def commands_with_files() -> dict[str, bool]:
    """Return commands of evaluation with a required file, and whether it can be declared."""
    reading = {}
    for name, app in get_commands().items():
        if not str(app).startswith("evaluation"):
            continue
        actions = command_named(name).create_parser("manage.py", name)._actions
        if any(
            (action.type is Path or action.metavar == "FILE") and not action.option_strings
            for action in actions
        ):
            reading[name] = any("--trained-on" in action.option_strings for action in actions)
    return reading


def calls_with_files() -> dict[str, bool]:
    """Return calls of evaluation that take a file, by their route, and whether it can be declared."""
    ours = (endpoint for endpoint in endpoints() if endpoint.operation.app == "evaluation")
    return {
        endpoint.route: "trained_on" in request_fields(endpoint.operation.request)
        for endpoint in ours
        if endpoint.uploads
    }


def test_commands_and_calls_that_read_output_from_outside_take_a_declaration() -> None:
    commands, calls = commands_with_files(), calls_with_files()
    assert {"import_localizations", "import_run", "score_captions"} <= commands.keys()
    assert {"localization_sets", "runs"} <= calls.keys()
    without = {name for name, declares in (commands | calls).items() if not declares}
    assert without == NO_OUTPUT.keys()
