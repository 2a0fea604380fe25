"""A corpus of three scenes with a campaign whose model annotator trains fast, for tests of its training."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation import campaigns
from annotation.campaigns import model_annotators
from config.sample import sample_records
from evaluation.services.model_annotators.stored_proposers import proposer_folder
from models_core.estimators.neural.gradient_training import fitting_threads
from models_core.estimators.neural.proposer import box_proposer
from models_core.estimators.neural.proposer.training import ProposerSettings
from tests.queue.world import TRUSTING, World


@pytest.fixture
def world(tmp_path: Path, settings: Any) -> World:
    settings.DATA_DIR = tmp_path / "data"
    records = list(sample_records(3, seed=5, out=tmp_path / "pictures"))
    return World(records, settings={**TRUSTING, "model_annotator": {"share": 1.0, "from_images": 1}})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few steps on one thread, and close-ups of few pixels: the quality of the model does not matter here."""
    looks = [
        (name, replace(view, side=view.side // 4), *training_run)
        for name, view, *training_run in box_proposer._CLOSE_UP
    ]
    monkeypatch.setattr(box_proposer, "_CLOSE_UP", tuple(looks))
    for steps in ("STEPS_FROM_SCRATCH", "MOST_STEPS_FROM_SCRATCH", "STEPS_CONTINUED"):
        monkeypatch.setattr(f"models_core.estimators.neural.proposer.training.{steps}", (1, 1, 1))
    small = ProposerSettings(side=64, epochs=1, close_epochs=1, last_epochs=1)
    monkeypatch.setattr(
        "models_core.estimators.neural.proposer.training.ProposerSettings", lambda **provided: small
    )
    with fitting_threads(0):
        yield


def settings_now(world: World, **model_annotator: Any) -> None:
    plain_value = {
        **world.campaign.settings,
        "model_annotator": {**world.campaign.settings["model_annotator"], **model_annotator},
    }
    campaigns.change_campaign_settings(campaign=world.campaign, settings=plain_value)


def to_propose(campaign: Any) -> Iterator[Any]:
    """Yield the unfinished images of the model annotator's share, each with its mentions."""
    return model_annotators.records_to_propose(campaign, model_annotators.images_to_propose(campaign))


#: The files of the proposer that `a_proposer` has trained, by their paths in its folder.
_files: dict[Path, bytes] = {}


def a_proposer(world: World, name: str = "scenes") -> None:
    """Store a proposer that was trained on the corpus: by the first test that needs it, for a second of CPU;
    the others get a copy of its files."""
    folder = proposer_folder(name)
    if not _files:
        call("train_proposer", name, "--corpus", world.corpus.name)
        files = (file for file in folder.rglob("*") if file.is_file())
        _files.update((file.relative_to(folder), file.read_bytes()) for file in files)
    for file, content in _files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)


def call(command: str, *arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command(command, *arguments, "--json", stdout=out)
    payload: dict[str, Any] = json.loads(out.getvalue())
    return payload
