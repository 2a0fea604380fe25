"""Cross-validation: every image is tested once, by a system not trained on it; finished folds are not
repeated."""

import dataclasses
import shutil

import numpy as np
import pytest

from models_core.folds import make_folds
from models_core.phase_cache import PhaseCache
from models_core.systems import cross_validation
from models_core.systems.cross_validation import cross_validate
from models_core.systems.kernels import Resources
from models_core.systems.side_settings import PictureSettings
from models_core.systems.table11 import TABLE_11
from tests.models_core.systems.worlds import material

LINEAR = {name: dataclasses.replace(TABLE_11[name], image=PictureSettings("linear", 1)) for name in TABLE_11}


@pytest.fixture(scope="module")
def world():
    return material(60)


def test_folds_are_all_images_once_and_as_equal_as_can_be():
    folds = make_folds(23, 5, seed=3)
    assert sorted(np.concatenate(folds).tolist()) == list(range(23))
    assert sorted(map(len, folds)) == [4, 4, 5, 5, 5]
    assert any(
        (a != b).any() for a, b in zip(make_folds(20, 5, seed=1), make_folds(20, 5, seed=2), strict=True)
    )


def test_fewer_than_three_folds_leave_nothing_to_select_by():
    with pytest.raises(ValueError, match="60 images in 2 folds; expected at least 3 folds"):
        make_folds(60, 2)


@pytest.mark.parametrize("name", ["BoW5", "NN5-F1-idf"])
def test_no_fold_is_tested_by_what_saw_it(name, world, monkeypatch):
    seen = []

    def spy(recipe, training, held_out, *more, **options):
        seen.append((set(training.names), set() if held_out is None else set(held_out.names)))
        return fit(recipe, training, held_out, *more, **options)

    fit = cross_validation.fit
    monkeypatch.setattr(cross_validation, "fit", spy)
    result = cross_validate(LINEAR[name], world, number=5, cache=PhaseCache())
    assert [len(training | held) for training, held in seen] == [48] * 5
    assert [len(held) for _, held in seen] == [12 if name == "BoW5" else 0] * 5
    tested = [set(world.names) - training - held for training, held in seen]
    assert set.union(*tested) == set(world.names)
    assert sum(map(len, tested)) == 60
    assert result.pool.tolist() == [12] * 60
    for ranks in result.ranks.values():
        assert ((1 <= ranks) & (ranks <= 12)).all()
        assert np.median(ranks) < 4


def test_a_run_that_was_stopped_goes_on_after_its_last_fold(world, tmp_path, monkeypatch):
    class Enough(Exception):
        pass

    def stop(phase: str, done: int, of: int) -> None:
        if (phase, done) == ("BoW5, fold 3 of 5", 0):
            raise Enough

    with pytest.raises(Enough):
        cross_validate(LINEAR["BoW5"], world, cache=PhaseCache(tmp_path, stop))
    fitted = []
    fit = cross_validation.fit

    def counting(*arguments, **options):
        fitted.append(1)
        return fit(*arguments, **options)

    monkeypatch.setattr(cross_validation, "fit", counting)
    gone_on = cross_validate(LINEAR["BoW5"], world, cache=PhaseCache(tmp_path))
    assert len(fitted) == 3
    for direction, ranks in cross_validate(LINEAR["BoW5"], world, cache=PhaseCache()).ranks.items():
        np.testing.assert_array_equal(gone_on.ranks[direction], ranks)


def test_another_wordnet_is_not_mistaken_for_it(world, wordnet, tmp_path, monkeypatch):
    another = tmp_path / "other"
    shutil.copytree(wordnet, another)
    with (another / "noun.exc").open("a") as exceptions:
        exceptions.write("worldses world\n")
    fitted = []
    fit = cross_validation.fit

    def counting(recipe, *arguments, **options):
        fitted.append(recipe.name)
        return fit(LINEAR["BoW5"], *arguments, **options)

    monkeypatch.setattr(cross_validation, "fit", counting)
    for folder, folds in ((wordnet, 3), (wordnet, 3), (another, 6), (another, 6)):
        aids = Resources(wordnet=folder)
        cross_validate(LINEAR["TRI5-Lin"], world, aids, number=3, cache=PhaseCache(tmp_path))
        assert fitted == ["TRI5-Lin"] * folds


def test_other_folds_and_other_recipes_are_not_mistaken_for_it(world, tmp_path):
    phase_cache = PhaseCache(tmp_path)
    first = cross_validate(LINEAR["NN5-F1"], world, cache=phase_cache)
    second = cross_validate(LINEAR["NN5-BoW5"], world, cache=phase_cache)
    second_folds = cross_validate(LINEAR["NN5-F1"], world, cache=phase_cache, seed=1)
    assert (first.ranks["search"] != second.ranks["search"]).any()
    assert (first.ranks["search"] != second_folds.ranks["search"]).any()
