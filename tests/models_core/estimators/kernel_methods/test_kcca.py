"""KCCA: both solvers solve eq. 3; invalid input is refused."""

import numpy as np
import pytest
from scipy.linalg import eigh

from models_core import storage
from models_core.estimators.kcca.gram_schmidt import Columns
from models_core.estimators.kcca.kcca import KCCA, KappaSweep, unit
from models_core.estimators.kcca.krylov import NotSemidefinite
from models_core.estimators.kcca.problem import centred, relative_residuals
from tests.models_core.estimators.kernel_methods.kernels import kernels


def printed_problem(x, y, kappa):
    """Return correlations from eq. 3 as a generalised eigenproblem of twice the size."""
    n = len(x)
    zero = np.zeros((n, n))
    left = np.block([[zero, x @ y], [y @ x, zero]])
    right = np.block([[x @ x + kappa * x, zero], [zero, y @ y + kappa * y]])
    return eigh(left, right, eigvals_only=True)[::-1][:n]


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kappa", [0.1, 5.0])
def test_every_solver_solves_the_printed_problem(center, kappa):
    provided = kernels(130)
    x, y = (centred(side, center=center).kernel for side in provided[:2])
    alike = []
    for solver in ("full", "few"):
        model = KCCA(15, kappa, center=center, solver=solver).fit(provided.x, provided.y)
        result = relative_residuals(x, y, model.x_.weights, model.y_.weights, model.correlations_, kappa)
        assert result.max() < 1e-8
        alike.append(model)
    approximated = KCCA(15, kappa, center=center, solver="gram-schmidt", rank=130, tolerance=1e-13)
    alike.append(approximated.fit(provided.x, provided.y))
    first = alike[0].score_pairs(provided.new_x, provided.new_y)
    for another in alike[1:]:
        np.testing.assert_allclose(another.correlations_, alike[0].correlations_, rtol=1e-7)
        np.testing.assert_allclose(another.score_pairs(provided.new_x, provided.new_y), first, atol=1e-6)


def test_all_retained_dimensions_solve_it():
    provided = kernels(120)
    model = KCCA(None, 0.5, solver="full").fit(provided.x, provided.y)
    x, y = (centred(side).kernel for side in provided[:2])
    residuals = relative_residuals(x, y, model.x_.weights, model.y_.weights, model.correlations_, 0.5)
    assert len(residuals) > 60
    assert residuals.max() < 1e-8


def test_dimensions_that_hardly_correlate_are_solved_as_exactly_by_few():
    rng = np.random.default_rng(3)
    features = np.linalg.qr(rng.standard_normal((400, 300)))[0]
    shared = 0.9 * 0.93 ** np.arange(150)
    left = features[:, :150]
    right = shared * left + np.sqrt(1 - shared**2) * features[:, 150:]
    x, y = 5 * left @ left.T, 5 * right @ right.T
    model = KCCA(60, 0.5, center=False, solver="few").fit(x, y)
    assert model.correlations_[-1] < 0.02 * model.correlations_[0]
    result = relative_residuals(x, y, model.x_.weights, model.y_.weights, model.correlations_, 0.5)
    assert result.max() < 1e-8
    full = KCCA(60, 0.5, center=False, solver="full").fit(x, y)
    np.testing.assert_allclose(model.correlations_, full.correlations_, rtol=1e-8)


def test_correlations_are_those_of_the_generalised_eigenproblem():
    provided = kernels(60)
    expected = printed_problem(provided.x, provided.y, 1.0)
    model = KCCA(10, 1.0, center=False, solver="full").fit(provided.x, provided.y)
    np.testing.assert_allclose(model.correlations_, expected[:10], rtol=1e-8)


def test_weights_are_normalised_as_eq_3_constrains_them():
    provided = kernels(80)
    x = centred(provided.x).kernel
    for solver in ("full", "few"):
        model = KCCA(5, 0.5, solver=solver).fit(provided.x, provided.y)
        alpha = model.x_.weights
        np.testing.assert_allclose(alpha.T @ (x @ x + 0.5 * x) @ alpha, np.eye(5), atol=1e-9)


def test_two_linear_kernels_of_one_feature_correlate_as_by_hand():
    # K = u u' with |u|^2 = 2 on both sides: rho = 2 / (2 + kappa).
    u = np.array([[1.0], [-1.0]])
    model = KCCA(1, 2.0, solver="full").fit(u @ u.T, u @ u.T)
    assert model.correlations_ == pytest.approx([0.5])
    assert model.score_pairs([[1.0, -1.0], [-3.0, 3.0]], [[2.0, -2.0]]) == pytest.approx(
        np.array([[1.0], [-1.0]])
    )


def test_a_centred_kernel_does_not_feel_a_constant():
    provided = kernels(100)
    plain_value = KCCA(10, 0.5).fit(provided.x, provided.y)
    moved = KCCA(10, 0.5).fit(provided.x + 3, provided.y)
    np.testing.assert_allclose(
        moved.score_pairs(provided.new_x + 3, provided.new_y),
        plain_value.score_pairs(provided.new_x, provided.new_y),
        atol=1e-8,
    )


def test_fewer_dimensions_are_a_prefix_of_more():
    provided = kernels(120)
    more, fewer = (KCCA(d, 0.1, solver="full").fit(provided.x, provided.y) for d in (30, 7))
    np.testing.assert_allclose(
        more.first(7).score_pairs(provided.new_x, provided.new_y),
        fewer.score_pairs(provided.new_x, provided.new_y),
        atol=1e-9,
    )


def test_a_sweep_gives_what_single_fits_give():
    provided = kernels(120)
    models = list(KappaSweep(centred(provided.x), centred(provided.y)).models([0.1, 5.0], 12))
    for model, kappa in zip(models, (0.1, 5.0), strict=True):
        alone = KCCA(12, kappa, solver="full").fit(provided.x, provided.y)
        assert model.kappa == kappa
        np.testing.assert_allclose(model.correlations_, alone.correlations_, rtol=1e-10)


def test_held_out_pairs_find_each_other():
    provided = kernels(250, 50)
    scores = KCCA(8, 1.0).fit(provided.x, provided.y).score_pairs(provided.new_x, provided.new_y)
    assert np.mean(scores.argmax(axis=1) == np.arange(50)) > 0.3


def test_kernels_of_low_rank_are_solved_by_all():
    rng = np.random.default_rng(1)
    left = rng.standard_normal((90, 12))
    right = left @ rng.standard_normal((12, 9)) + rng.standard_normal((90, 9))
    correlations = [
        KCCA(9, 0.5, solver=solver, rank=40).fit(left @ left.T, right @ right.T).correlations_
        for solver in ("full", "few", "gram-schmidt")
    ]
    np.testing.assert_allclose(correlations[1], correlations[0], rtol=1e-9)
    np.testing.assert_allclose(correlations[2], correlations[0], rtol=1e-9)


def test_kernels_in_single_precision_are_solved_by_all():
    rng = np.random.default_rng(2)
    left = rng.random((120, 30))
    right = left @ rng.random((30, 20)) + rng.random((120, 20))
    x, y = ((unit(side) @ unit(side).T).astype(np.float32) for side in (left, right))
    assert np.linalg.eigvalsh(x.astype(float))[0] < -1e-9
    models = [KCCA(10, 0.1, solver=solver).fit(x, y) for solver in ("full", "few")]
    # One omits negative eigenvalues, the other includes them.
    np.testing.assert_allclose(models[1].correlations_, models[0].correlations_, rtol=1e-5)


def test_gram_schmidt_reads_few_columns_and_needs_only_those_of_new_items():
    provided = kernels(150)
    read: set[int] = set()

    def column(kernel):
        def single(item):
            read.add(item)
            return kernel[:, item]

        return Columns(np.diag(kernel).copy(), single)

    model = KCCA(5, 0.5, solver="gram-schmidt", rank=30).fit(column(provided.x), column(provided.y))
    assert len(read) <= 60
    left = model.x_(provided.new_x)
    np.testing.assert_array_equal(model.x_(provided.new_x[:, model.x_.columns]), left)
    assert model.x_.weights.shape == (30, 5)


def test_negative_eigenvalues_are_left_out_by_full_and_refused_by_few():
    provided = kernels(60)
    values, vectors = np.linalg.eigh(provided.x)
    broken = (vectors * (values - 0.3)) @ vectors.T
    broken = (broken + broken.T) / 2
    mended = (vectors * np.where(values > 0.3, values - 0.3, 0)) @ vectors.T
    full = KCCA(4, 0.5, center=False, solver="full").fit(broken, provided.y)
    repaired = KCCA(4, 0.5, center=False, solver="full").fit((mended + mended.T) / 2, provided.y)
    np.testing.assert_allclose(full.correlations_, repaired.correlations_, rtol=1e-9)
    with pytest.raises(NotSemidefinite, match="kernel x has negative eigenvalues; solver 'full'"):
        KCCA(4, 0.5, center=False, solver="few").fit(broken, provided.y)


def test_a_stored_model_scores_the_same(tmp_path):
    provided = kernels(80)
    for solver in ("full", "gram-schmidt"):
        model = KCCA(6, 0.5, solver=solver, rank=30).fit(provided.x, provided.y)
        model.save(tmp_path / solver, {"corpus": "abc"})
        again = KCCA.load(tmp_path / solver)
        assert again.solver_ == solver
        assert storage.read_manifest(tmp_path / solver)["metadata"] == {"corpus": "abc"}
        np.testing.assert_array_equal(
            again.score_pairs(provided.new_x, provided.new_y),
            model.score_pairs(provided.new_x, provided.new_y),
        )


def with_entry(kernel, at, value):
    changed = kernel.copy()
    changed[at] = value
    return changed


KERNELS = kernels(30)


@pytest.mark.parametrize(
    ("x", "y", "settings", "message"),
    [
        (KERNELS.x[:1, :1], KERNELS.y[:1, :1], {}, "kernel x is of 1 training pairs; expected 2 or more"),
        (KERNELS.x[:20], KERNELS.y, {}, r"kernel x has shape \(20, 30\); expected a square kernel"),
        (KERNELS.x[:20, :20], KERNELS.y, {}, "kernel x is of 20 items, kernel y of 30"),
        (KERNELS.x, with_entry(KERNELS.y, (3, 4), np.nan), {}, r"kernel y is nan at \(3, 4\)"),
        (with_entry(KERNELS.x, (3, 4), 9.0), KERNELS.y, {}, r"kernel x is not symmetric: entries \(3, 4\)"),
        (KERNELS.x, KERNELS.y, {"dimensions": 31}, "31 dimensions were requested, but the kernels have "),
        (
            KERNELS.x,
            KERNELS.y,
            {"dimensions": 31, "solver": "few"},
            "31 dimensions were requested, but the kernels have ",
        ),
        (KERNELS.x, KERNELS.y, {"dimensions": 0}, "dimensions are 0; expected 1 or more"),
        (KERNELS.x, KERNELS.y, {"kappa": 0.0}, "kappa is 0.0; expected a number above 0"),
        (
            KERNELS.x,
            KERNELS.y,
            {"solver": "fast"},
            "solver 'fast' is unknown; there are auto, full, few, gram-schmidt",
        ),
        (np.ones((30, 30)), KERNELS.y, {}, "a kernel has no eigenvalue above 0"),
        (np.ones((30, 30)), KERNELS.y, {"solver": "gram-schmidt"}, "a kernel has no eigenvalue above 0"),
    ],
)
def test_bad_input_is_refused_in_one_line(x, y, settings, message):
    with pytest.raises(ValueError, match=message) as error:
        KCCA(**{"dimensions": 5, **settings}).fit(x, y)
    assert "\n" not in str(error.value)


def test_new_items_with_another_number_of_columns_are_refused():
    model = KCCA(5).fit(KERNELS.x, KERNELS.y)
    with pytest.raises(ValueError, match=r"kernel y has shape \(20, 29\); expected \(items, 30\)"):
        model.transform(KERNELS.new_x, KERNELS.new_y[:, 1:])
