"""Mixtures over word vectors and Fisher vectors of phrases, compared with loops over the equations."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from skimage.feature import fisher_vector
from sklearn.mixture import GaussianMixture

from models_core.checked_fields import BadField
from models_core.estimators.base import RaggedRows, WordNumbers
from models_core.features.text.fisher import FisherSettings, FisherVectors, wordless
from models_core.features.text.mixture_steps import Family, MixtureParameters
from models_core.features.text.mixtures import MixtureSettings, WordMixture

FAMILIES: tuple[Family, ...] = get_args(Family)
WIDTH = 5
SETTINGS = FisherSettings(power=False, normalised=False)


def word_rows(count: int = 600) -> NDArray[np.float32]:
    """Return three clusters; the first dimensions are Gaussian, the last two Laplacian."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((count, WIDTH))
    rows[:, 3:] = rng.laplace(size=(count, 2))
    return np.asarray(rows + 3 * rng.integers(0, 3, (count, 1)), np.float32)


def learn(family: Family, **settings: Any) -> WordMixture:
    return WordMixture(MixtureSettings(family=family, components=3, **settings)).fit(word_rows())


def some_phrases(counts: tuple[int, ...] = (1, 4, 0, 7, 2)) -> RaggedRows:
    return RaggedRows.of_counts(word_rows()[: sum(counts)], counts)


def whole(fisher: FisherVectors, *arguments: Any, rows: int = 0) -> NDArray[np.float32]:
    return np.concatenate(list(fisher.blocks(*arguments, rows=rows)))


def log_density(row: NDArray[Any], mixture_parameters: MixtureParameters) -> float:
    """Return log p of one row, with loops."""
    total = 0.0
    for k, weight in enumerate(mixture_parameters.weights):
        density = float(weight)
        for d, x in enumerate(row):
            m, s = mixture_parameters.locations[k, d], mixture_parameters.scales[k, d]
            if mixture_parameters.laplacian[k, d]:
                density *= np.exp(-abs(x - m) / s) / (2 * s)
            else:
                density *= np.exp(-((x - m) ** 2) / (2 * s**2)) / (s * np.sqrt(2 * np.pi))
        total += density
    return float(np.log(total))


def information(mixture_parameters: MixtureParameters) -> NDArray[np.float64]:
    """Return square roots of the Fisher information by location and by scale, shape (2, components,
    dimensions)."""
    first = np.sqrt(mixture_parameters.weights)[:, None] / mixture_parameters.scales
    return np.stack([first, first * np.where(mixture_parameters.laplacian, 1, np.sqrt(2))])


def slow_fisher(rows: NDArray[Any], mixture_parameters: MixtureParameters) -> NDArray[np.float64]:
    """Not normalised, with loops over words, components and dimensions."""
    out = np.zeros((2, *mixture_parameters.locations.shape))
    for row in rows.astype(float):
        for k, weight in enumerate(mixture_parameters.weights):
            alone = replace(mixture_parameters, weights=np.eye(len(mixture_parameters.weights))[k] * weight)
            share = np.exp(log_density(row, alone) - log_density(row, mixture_parameters))
            for d, x in enumerate(row):
                z = (x - mixture_parameters.locations[k, d]) / mixture_parameters.scales[k, d]
                if mixture_parameters.laplacian[k, d]:
                    gradients = np.sign(z), abs(z) - 1
                else:
                    gradients = z, (z**2 - 1) / np.sqrt(2)
                for order in range(2):
                    out[order, k, d] += share * gradients[order] / np.sqrt(weight) / len(rows)
    return out.ravel()


@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_are_those_of_the_equations(family: Family) -> None:
    fisher = FisherVectors(learn(family), SETTINGS)
    provided = some_phrases()
    result = whole(fisher, provided)
    assert result.dtype == np.float32 and result.shape == (5, fisher.size) == (5, 2 * 3 * WIDTH)
    for index in (0, 3):
        assert result[index] == pytest.approx(
            slow_fisher(provided.item(index), fisher.mixture.parameters_), abs=1e-6
        )


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_finite_differences_of_the_log_likelihood(family: Family) -> None:
    mixture = learn(family)
    parameters = mixture.parameters_
    provided = some_phrases((3, 6))
    vectors = whole(FisherVectors(mixture, SETTINGS), provided).reshape(2, 2, 3, WIDTH)
    step = 1e-6

    def likelihood(rows: NDArray[Any], name: str, k: int, d: int, change: float) -> float:
        moved = getattr(parameters, name).copy()
        moved[k, d] += change
        other_word_mixture = WordMixture(mixture.settings)
        other_word_mixture.parameters_ = replace(parameters, **{name: moved})
        return float(other_word_mixture.log_likelihoods(rows).mean())

    for index in range(2):
        rows = provided.item(index).astype(float)
        gradients = vectors[index] * information(parameters)
        for order, name in enumerate(("locations", "scales")):
            for k in range(3):
                for d in range(WIDTH):
                    # At a Laplacian's location there is no derivative.
                    if np.abs(rows[:, d] - parameters.locations[k, d]).min() < 2 * step:
                        continue
                    ends = [likelihood(rows, name, k, d, sign * step) for sign in (1, -1)]
                    slope = (ends[0] - ends[1]) / (2 * step)
                    assert gradients[order, k, d] == pytest.approx(slope, abs=1e-5, rel=1e-5)


@pytest.mark.parametrize("improved", [False, True])
def test_gaussian_vectors_are_those_of_scikit_image(improved: bool) -> None:
    """Theirs begin with a number for each weight, which ours lack, and have the opposite sign by scale. Their
    length of 1 counts the numbers of weights, so that it is taken again without these."""
    settings = FisherSettings() if improved else SETTINGS
    fisher = FisherVectors(learn("gaussian"), settings)
    parameters, provided = fisher.mixture.parameters_, some_phrases((1, 5, 40))
    theirs = GaussianMixture(len(parameters.weights), covariance_type="diag")
    theirs.weights_, theirs.means_, theirs.covariances_ = (
        parameters.weights,
        parameters.locations,
        parameters.scales**2,
    )
    theirs.precisions_cholesky_ = 1 / parameters.scales
    for index, vector in enumerate(whole(fisher, provided)):
        other_fisher_vector = fisher_vector(provided.item(index).astype(float), theirs, improved=improved)
        other_fisher_vector = other_fisher_vector[len(parameters.weights) :] * np.repeat(
            [1, -1], fisher.size // 2
        )
        expected = (
            other_fisher_vector / np.linalg.norm(other_fisher_vector) if improved else other_fisher_vector
        )
        assert vector == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_log_likelihoods_are_those_of_the_loop(family: Family) -> None:
    mixture = learn(family)
    rows = word_rows()[:20]
    expected = [log_density(row.astype(float), mixture.parameters_) for row in rows]
    assert mixture.log_likelihoods(rows) == pytest.approx(expected, abs=1e-9)
    assert mixture.posteriors(rows).sum(axis=1) == pytest.approx(np.ones(20))
    assert mixture.posteriors(rows[:0]).shape == (0, 3)


def test_power_and_length() -> None:
    mixture, provided = learn("hybrid"), some_phrases()
    plain_value = whole(FisherVectors(mixture, SETTINGS), provided)
    rooted = np.sign(plain_value) * np.sqrt(np.abs(plain_value))
    lengths = np.linalg.norm(rooted, axis=1, keepdims=True)
    only_power = FisherVectors(mixture, FisherSettings(normalised=False))
    assert whole(only_power, provided) == pytest.approx(rooted, abs=1e-6)
    assert whole(FisherVectors(mixture), provided) == pytest.approx(
        rooted / np.where(lengths > 0, lengths, 1), abs=1e-6
    )


def test_a_phrase_without_words_is_zeros_and_counted() -> None:
    provided = some_phrases()
    assert not whole(FisherVectors(learn("hybrid")), provided)[2].any()
    assert wordless(provided.begin, provided.end) == 1


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_blocks_of_any_size_and_numbers_of_words_give_the_same(rows: int) -> None:
    fisher, words = FisherVectors(learn("hybrid")), word_rows()[:30]
    numbers = np.random.default_rng(0).integers(0, 30, 14)
    by_row = RaggedRows.of_counts(words[numbers], (1, 4, 0, 7, 2)).take([3, 0, 2, 1, 4])
    by_number = WordNumbers(numbers, by_row.begin, by_row.end, 30)
    expected = whole(fisher, by_row)
    blocks = list(fisher.blocks(by_number, words, rows=rows))
    assert [len(block) for block in blocks] == [min(rows, 5 - start) for start in range(0, 5, rows)]
    assert np.concatenate(blocks) == pytest.approx(expected, abs=1e-6)
    assert whole(fisher, by_row, rows=rows) == pytest.approx(expected, abs=1e-6)


def test_half_precision_and_mapped_vectors_are_read(tmp_path) -> None:
    fisher, words = FisherVectors(learn("hybrid")), word_rows()[:30].astype(np.float16)
    np.save(tmp_path / "words.npy", words)
    mapped = np.load(tmp_path / "words.npy", mmap_mode="r")
    word_numbers = WordNumbers(np.arange(6), np.array([0, 2]), np.array([2, 6]), 30)
    by_row = RaggedRows(words.astype(np.float32), word_numbers.begin, word_numbers.end)
    assert whole(fisher, word_numbers, mapped) == pytest.approx(whole(fisher, by_row), abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("bins", [16, 1024])
def test_the_log_likelihood_never_falls(family: Family, bins: int) -> None:
    curve = learn(family, bins=bins, tolerance=0.0, passes=30).curve_
    assert len(curve) > 5 and np.diff(curve).min() > -1e-9 and curve[-1] > curve[0]


def test_gaussians_are_those_of_scikit_learn() -> None:
    rows = word_rows().astype(float)
    theirs = GaussianMixture(
        3, covariance_type="diag", tol=1e-9, max_iter=500, reg_covar=0, random_state=0
    ).fit(rows)
    ours = learn("gaussian", tolerance=0.0, passes=400)
    assert ours.log_likelihoods(rows).mean() == pytest.approx(theirs.score(rows), abs=1e-4)
    order, their_order = ours.parameters_.locations[:, 0].argsort(), theirs.means_[:, 0].argsort()
    assert ours.parameters_.locations[order] == pytest.approx(theirs.means_[their_order], abs=0.02)


def test_one_laplacian_is_the_median_and_the_mean_deviation() -> None:
    rows = word_rows()[:, :2]
    parameters = WordMixture(MixtureSettings(family="laplacian", components=1)).fit(rows).parameters_
    medians = parameters.locations[0]
    assert (np.mean(rows <= medians, axis=0) >= 0.5).all() and (np.mean(rows >= medians, axis=0) >= 0.5).all()
    assert parameters.scales[0] == pytest.approx(
        np.abs(rows - np.median(rows, axis=0)).mean(axis=0), abs=1e-6
    )


def test_with_few_edges_the_median_is_near() -> None:
    """64 edges, one component: the rank is wrong by at most 1/64, and the deviation is the edge's."""
    rows = word_rows()[:, :1].astype(float)
    parameters = WordMixture(MixtureSettings(family="laplacian", components=1, bins=64)).fit(rows).parameters_
    assert np.mean(rows < parameters.locations[0, 0]) == pytest.approx(0.5, abs=1 / 64)
    assert parameters.scales[0, 0] == pytest.approx(
        np.abs(rows - parameters.locations[0, 0]).mean(), abs=1e-9
    )


def test_a_hybrid_picks_what_fits() -> None:
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((4000, 6))
    rows[:, ::2] = rng.laplace(size=(4000, 3))
    rows[:2000] += 10
    parameters = WordMixture(MixtureSettings(components=2, passes=10)).fit(rows).parameters_
    assert parameters.laplacian.tolist() == [[True, False] * 3] * 2


def test_counts_are_rows_that_come_more_than_once() -> None:
    rows = word_rows()[:200]
    counts = np.random.default_rng(0).integers(0, 4, 200)
    settings = MixtureSettings(components=1, passes=2, bins=2000)
    counted = WordMixture(settings).fit(rows, counts=counts)
    repeated = WordMixture(settings).fit(np.repeat(rows, counts, axis=0))
    assert counted.parameters_.locations == pytest.approx(repeated.parameters_.locations, abs=1e-6)
    assert counted.parameters_.scales == pytest.approx(repeated.parameters_.scales, abs=1e-6)


def test_rows_in_several_blocks_and_a_sample_of_them(monkeypatch) -> None:
    expected = learn("hybrid", passes=5)
    monkeypatch.setattr("models_core.features.text.mixtures._BLOCK", 77)
    blocked = learn("hybrid", passes=5)
    assert blocked.curve_ == pytest.approx(expected.curve_, abs=1e-9)
    monkeypatch.setattr("models_core.features.text.mixtures._SAMPLE", 200)
    sampled = learn("hybrid", passes=50)
    assert sampled.curve_[-1] == pytest.approx(expected.curve_[-1], abs=0.2)


def test_memory_does_not_grow_with_the_rows(monkeypatch) -> None:
    monkeypatch.setattr("models_core.features.text.mixtures._BLOCK", 256)
    monkeypatch.setattr("models_core.features.text.mixtures._SAMPLE", 500)
    rows = np.tile(word_rows(), (50, 4))
    settings = MixtureSettings(components=3, passes=2, bins=64)
    WordMixture(settings).fit(rows[:1000])  # compiled

    def most(count: int) -> int:
        tracemalloc.start()
        try:
            WordMixture(settings).fit(rows[:count])
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    # Only the indices of the rows from which the sample is drawn have the same length as the rows.
    assert most(30_000) < most(3_000) + 2.5 * 8 * 27_000 < rows.nbytes


def test_the_seed_decides() -> None:
    item, again = learn("hybrid", seed=4, passes=5), learn("hybrid", seed=4, passes=5)
    assert (item.curve_ == again.curve_).all()
    assert (item.parameters_.locations == again.parameters_.locations).all()
    assert (item.curve_[0] != learn("hybrid", seed=5, passes=5).curve_[0]).all()


def test_a_dimension_that_never_changes_has_a_scale() -> None:
    rows = word_rows()
    rows[:, 1] = 2
    mixture = WordMixture(MixtureSettings(components=3)).fit(rows)
    assert (mixture.parameters_.scales > 0).all() and np.isfinite(mixture.curve_).all()
    provided = RaggedRows.of_counts(rows[:5], [5])
    assert np.isfinite(whole(FisherVectors(mixture), provided)).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_stored_comes_back(family: Family) -> None:
    fisher = FisherVectors(learn(family, passes=3), FisherSettings(power=False))
    arrays, settings = fisher.state()
    back = FisherVectors.from_state(arrays, json.loads(json.dumps(settings)))
    assert back.settings == fisher.settings and back.mixture.settings == fisher.mixture.settings
    assert (whole(back, some_phrases()) == whole(fisher, some_phrases())).all()
    assert (back.mixture.curve_ == fisher.mixture.curve_).all()
    with pytest.raises(KeyError, match="scales"):
        FisherVectors.from_state({name: arrays[name] for name in arrays if name != "scales"}, settings)


def broken_rows() -> NDArray[np.float32]:
    rows = word_rows()
    rows[7, 2] = np.nan
    return rows


@pytest.mark.parametrize(
    ("rows", "counts", "message"),
    [
        (broken_rows(), None, "row 7, column 2 .counted from 0. is nan; expected finite numbers"),
        (word_rows()[:2], None, "3 components were requested, but there are only 2 rows"),
        (np.ones((50, WIDTH)), None, "3 components were requested, but there are fewer different rows"),
        (np.ones(50), None, r"shape \(50,\); expected \(words, dimensions\)"),
        (word_rows(), np.ones(3), r"counts have shape \(3,\); expected \(600,\)"),
        (word_rows(), -np.ones(600), "row 0 .counted from 0. counts -1.0; expected 0 or more"),
        (word_rows(), np.zeros(600), "no row counts"),
    ],
)
def test_rows_that_cannot_be_learned_from_are_named(rows: Any, counts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        WordMixture(MixtureSettings(components=3)).fit(rows, counts=counts)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("phrases", "vectors", "message"),
    [
        (RaggedRows.of_counts(word_rows()[:4, :3], [4]), None, r"shape \(4, 3\); expected \(words, 5\)"),
        (RaggedRows.of_counts(broken_rows()[:9], [9]), None, "row 7, column 2"),
        (
            RaggedRows(word_rows(), np.array([0]), np.array([601])),
            None,
            "phrase 0 .* rows 0 to 601; expected",
        ),
        (
            WordNumbers(np.array([0, 9]), np.array([0]), np.array([2])),
            word_rows()[:9],
            "row 1 .* is word 9; .*8",
        ),
        (RaggedRows.of_counts(word_rows()[:4], [4]), word_rows(), "expected numbers of words"),
    ],
)
def test_phrases_that_cannot_be_described_are_named(phrases: Any, vectors: Any, message: str) -> None:
    fisher = FisherVectors(learn("hybrid", passes=1))
    with pytest.raises(ValueError, match=message) as caught:
        list(fisher.blocks(phrases, vectors))
    assert "\n" not in str(caught.value)


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(BadField, match="components is 0: expected a whole number, 1 to 10,000"):
        MixtureSettings(components=0)
    with pytest.raises(BadField, match="family is 'normal': expected one of gaussian, laplacian, hybrid"):
        MixtureSettings(family="normal")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="blocks of -1 phrases"):
        FisherVectors(learn("gaussian", passes=1)).blocks(some_phrases(), rows=-1)
