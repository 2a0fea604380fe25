"""GPU code, on the CPU: torch gives the same results as NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from models_core.estimators.base import DIRECTIONS
from models_core.estimators.kcca.kcca import KCCA, KappaSweep
from models_core.estimators.kcca.method import KCCARetriever
from models_core.estimators.kcca.problem import centred, relative_residuals
from models_core.estimators.kcca.selection import SelectedKCCA, prefix_scores
from models_core.features.image import vocabulary
from models_core.phase_cache import PhaseCache
from models_core.systems.cross_validation import cross_validate
from models_core.systems.dataset import CountedWords
from models_core.systems.kernels import image_gram
from models_core.systems.recipe import Recipe
from models_core.systems.side_settings import PictureSettings
from models_core.systems.trained_system import TrainedSystem
from models_core.systems.training import FitOptions, fit
from phrasebox.device import NoDevice, torch_for, torch_on
from phrasebox.kernels.intersection import Intersection, fold_shares
from tests.models_core.devices import TORCH
from tests.models_core.estimators.kernel_methods.kernels import kernels
from tests.models_core.systems.worlds import material
from tests.phrasebox.kernels.test_intersection import pyramids


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("dimensions", [None, 12])
def test_kcca_solves_the_same_problem(center, dimensions) -> None:
    provided = kernels(120)
    plain_value, result = (
        KCCA(dimensions, 0.5, center=center, solver="full", device=device).fit(provided.x, provided.y)
        for device in ("cpu", TORCH)
    )
    assert len(result.correlations_) == len(plain_value.correlations_)
    np.testing.assert_allclose(result.correlations_, plain_value.correlations_, atol=1e-10)
    x, y = (centred(side, center=center).kernel for side in provided[:2])
    values = result.x_.weights, result.y_.weights, result.correlations_
    assert relative_residuals(x, y, *values, 0.5).max() < 1e-8
    np.testing.assert_allclose(
        result.first(12).score_pairs(provided.new_x, provided.new_y),
        plain_value.first(12).score_pairs(provided.new_x, provided.new_y),
        atol=1e-8,
    )
    assert all(isinstance(array, np.ndarray) for array in (*values, result.x_.offset, result.y_.offset))


def test_sides_of_different_rank_are_solved_either_way_round() -> None:
    rng = np.random.default_rng(1)
    left = rng.standard_normal((90, 12))
    right = left @ rng.standard_normal((12, 9)) + rng.standard_normal((90, 9))
    for first, second in ((left, right), (right, left)):
        plain_value, result = (
            KCCA(9, 0.5, solver="full", device=device).fit(first @ first.T, second @ second.T)
            for device in ("cpu", TORCH)
        )
        assert result.x_.weights.shape == (90, 9)
        np.testing.assert_allclose(result.correlations_, plain_value.correlations_, atol=1e-10)


def test_a_device_takes_the_full_solver_where_the_cpu_would_take_another(monkeypatch) -> None:
    monkeypatch.setattr("models_core.estimators.kcca.kcca._SMALL", 100)
    provided = kernels(120)
    assert KCCA(5).fit(provided.x, provided.y).solver_ == "few"
    assert KCCA(5, device=TORCH).fit(provided.x, provided.y).solver_ == "full"


def test_a_sweep_gives_the_same_models() -> None:
    provided = kernels(120)
    sides = centred(provided.x), centred(provided.y)
    for kappas in ([0.1, 5.0], [1.0]):
        pairs = zip(KappaSweep(*sides).models(kappas), KappaSweep(*sides, TORCH).models(kappas), strict=True)
        for plain_value, result in pairs:
            assert result.kappa == plain_value.kappa
            np.testing.assert_allclose(result.correlations_, plain_value.correlations_, atol=1e-10)


def test_prefixes_score_the_same() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((5, 9)), rng.standard_normal((7, 9))
    x[:, :2] = 0  # all have length 0 in the first two dimensions
    on = torch_on(TORCH)
    pairs = zip(prefix_scores(x, y, [2, 4, 9]), prefix_scores(x, y, [2, 4, 9], on), strict=True)
    for (size, plain_value), (another, result) in pairs:
        assert size == another
        np.testing.assert_allclose(result, plain_value, atol=1e-14)
    with pytest.raises(ValueError, match="must ascend within 9; got 10 after 4"):
        list(prefix_scores(x, y, [4, 10], on))


def test_the_same_settings_are_selected(tmp_path) -> None:
    provided = kernels(90, 40)
    held, test = slice(0, 20), slice(20, 40)
    plain_value, result = (
        SelectedKCCA((0.1, 5.0), number=6, device=device).fit(
            provided.x, provided.y, provided.new_x[held], provided.new_y[held]
        )
        for device in ("cpu", TORCH)
    )
    assert result.trials_ == plain_value.trials_
    assert result.chosen_ == plain_value.chosen_
    result.save(tmp_path / "system")
    again = SelectedKCCA.load(tmp_path / "system")
    assert again.device == "cpu"  # a stored system runs without such a device
    for direction in DIRECTIONS:
        scores = again.score_pairs(provided.new_x[test], provided.new_y[test], direction=direction)
        np.testing.assert_array_equal(
            scores, plain_value.score_pairs(provided.new_x[test], provided.new_y[test], direction=direction)
        )


@pytest.mark.parametrize(("images", "others"), [(70, 70), (70, 33), (1, 1)])
def test_intersections_are_exact_sums_of_the_same_minima(monkeypatch, images, others) -> None:
    # Tiles of few images, so that there are several, and some are incomplete.
    monkeypatch.setattr("phrasebox.kernels.intersection._MINIMA", 21 * 15 * 16**2)
    kinds = [pyramids(images, 7, 0), pyramids(images, 8, 1)]
    columns = kinds if others == images else [kind[:others] for kind in kinds]
    gram = Intersection(device=TORCH).gram(kinds, columns)
    left, right = fold_shares(kinds, 2), fold_shares(columns, 2)
    exact = np.minimum(left[:, None], right[None]).sum(axis=2, dtype=np.float64)
    np.testing.assert_allclose(gram, exact, rtol=0, atol=1e-12)
    np.testing.assert_allclose(gram, Intersection().gram(kinds, columns), rtol=0, atol=1e-6)
    if columns is kinds:
        assert np.array_equal(gram, gram.T)


def _kcca(system: TrainedSystem) -> SelectedKCCA:
    assert isinstance(system.model, KCCARetriever)
    return system.model.kcca_


def test_a_recipe_is_trained_and_tested_the_same(monkeypatch) -> None:
    world, recipe = material(60), Recipe("own", image=PictureSettings("linear", 2))
    sides = world.take(range(40)), world.take(range(40, 60))
    plain_value, crossed = (
        _kcca(fit(recipe, *sides)),
        cross_validate(recipe, world, number=3, cache=PhaseCache()),
    )
    # The CPU's decomposition of kernels is removed, to show that it is not used.
    monkeypatch.setattr("models_core.estimators.kcca.spectrum.decompose_both", None)
    kcca = _kcca(fit(recipe, *sides, options=FitOptions(device=TORCH)))
    again = cross_validate(recipe, world, number=3, cache=PhaseCache(), device=TORCH)
    # Captions of this world repeat, and rounding decides between ties: one query in twenty may differ.
    for trial, another in zip(kcca.trials_, plain_value.trials_, strict=True):
        assert trial.setting == another.setting
        for direction in DIRECTIONS:
            np.testing.assert_allclose(trial.recall[direction], another.recall[direction], atol=0.051)
    for direction in DIRECTIONS:
        assert np.mean(again.ranks[direction] == crossed.ranks[direction]) > 0.8


def test_intersections_of_pictures_leave_the_cpu_alone(monkeypatch) -> None:
    counts = np.random.default_rng(0).integers(0, 9, (12, 16, 9)).astype(np.uint32)
    settings = vocabulary.CodebookSettings(words=(4, 3, 2))
    books = vocabulary.Vocabulary(tuple(np.zeros((n, 3), np.float32) for n in settings.words), settings)
    words = CountedWords(counts, books)
    for kernel in ("pyramid", "histogram"):
        plain_value = image_gram(PictureSettings(kernel, 2), words, words)
        with monkeypatch.context() as gone:
            gone.setattr("phrasebox.kernels.intersection.intersections", None)
            result = image_gram(PictureSettings(kernel, 2), words, words, TORCH)
        np.testing.assert_allclose(result, plain_value, rtol=1e-6)


def test_a_constant_kernel_is_refused_as_on_the_cpu() -> None:
    with pytest.raises(ValueError, match="a kernel has no eigenvalue above 0"):
        KCCA(5, solver="full", device=TORCH).fit(np.ones((30, 30)), kernels(30).y)


def test_more_dimensions_than_there_are_are_refused_as_on_the_cpu() -> None:
    provided = kernels(30)
    with pytest.raises(ValueError, match="31 dimensions were requested, but the kernels have "):
        KCCA(31, device=TORCH).fit(provided.x, provided.y)


def test_a_device_that_is_full_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 20 GiB")

    monkeypatch.setattr("torch.linalg.eigh", full)
    monkeypatch.setattr("torch.minimum", full)
    provided, kinds = kernels(30, 10), [pyramids(3, 4, 0)]
    for work in (
        lambda: KCCA(5, device=TORCH).fit(provided.x, provided.y),
        lambda: SelectedKCCA(device=TORCH).fit(provided.x, provided.y, provided.new_x, provided.new_y),
        lambda: Intersection(device=TORCH).gram(kinds, kinds),
    ):
        with pytest.raises(NoDevice) as error:
            work()
        assert str(error.value) == (
            f"device {torch_for(TORCH).device}: too little memory for this many items; use cpu"
        )


def test_a_machine_without_a_gpu_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for name in ("cuda", "cuda:1"):
        with pytest.raises(NoDevice) as error:
            torch_on(name)
        assert str(error.value) == f"device {name}: this machine has no CUDA device; use cpu"


def test_a_gpu_that_is_not_there_is_told_from_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with pytest.raises(NoDevice, match="device cuda:2: this machine has 2 CUDA devices, cuda:0 to cuda:1$"):
        torch_on("cuda:2")
    torch = torch_on("cuda:1")
    assert torch is not None
    assert str(torch.device) == "cuda:1"
