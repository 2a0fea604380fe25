"""`--device`: refused before any work if it is missing, and never stored."""

from __future__ import annotations

import sys

import pytest
from django.core.management import CommandError

from evaluation.services.systems.training import system_folder
from tests.evaluation.database.conftest import output_of

pytestmark = pytest.mark.django_db


def commands(corpus, features, value):
    """Return both commands that compute on a device, as their arguments."""
    sources = ("--features", features)
    return (
        ("train_system", "mine", "--recipe", value, "--corpus", corpus, *sources),
        ("cross_validate", corpus, value, "--folds", 3, *sources),
    )


@pytest.mark.parametrize(
    ("device", "says"),
    [
        ("gpu", "device gpu: unknown; expected cpu, cuda, or one of several such as cuda:0"),
        ("cuda", "device cuda: torch is not installed; install it, or use cpu"),
    ],
)
def test_a_device_that_is_not_there_is_refused_before_any_work(
    corpus, features, own_recipe, data_dir, monkeypatch, device, says
):
    monkeypatch.setitem(sys.modules, "torch", None)  # makes Python treat the module as missing
    for command in commands(corpus, features, own_recipe):
        with pytest.raises(CommandError) as error:
            output_of(*command, "--device", device)
        assert str(error.value) == says
    assert not (data_dir / "kept").exists()
    assert not system_folder("mine").exists()


def test_the_cpu_may_be_said(corpus, features, own_recipe):
    for command in commands(corpus, features, own_recipe):
        output_of(*command, "--device", "cpu")
    assert system_folder("mine").exists()
