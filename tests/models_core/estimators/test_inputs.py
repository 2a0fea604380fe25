"""Invalid numbers are reported before training: too large, too small, zeros, one column."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from models_core.estimators.base import METHODS, Dataset, FitContext, RaggedRows, UnitRows, rows_of_length_1
from models_core.estimators.cca import CCASettings
from models_core.estimators.discovery import load_methods
from models_core.estimators.fitting import fit_method
from models_core.estimators.inputs import NumbersOutOfRange, check_inputs
from tests.models_core.estimators.vectors import LINK, all_scores, paired

load_methods()
CCA = METHODS["cca"]
ALIGNMENT = METHODS["alignment"]
TRAIN, NEW = paired(60, x=12, held_out=20)


def of_images(images, captions=TRAIN.captions):
    return Dataset({"images": images, "captions": captions}, TRAIN.links)


@given(st.floats(-35, 35), st.sampled_from([np.float32, np.float64]))
def test_cca_of_scaled_features_ranks_as_before_or_is_refused(exponent, kind):
    """Found by any factor, in single precision too, where squares overflow first."""

    def ranked(factor):
        train, new = (
            Dataset({**data.views, "images": (data.images * factor).astype(kind)}, data.links)
            for data in (TRAIN, NEW)
        )
        model = fit_method(CCA, CCASettings(5, ridges=(0.1,), powers=(1.0,)), train, None, FitContext()).model
        check_inputs(CCA, new)
        return all_scores(model, new, "annotation")

    try:
        result = ranked(10.0**exponent)
    except NumbersOutOfRange as refusal:
        assert "training images" in str(refusal) and not -6.5 < exponent < 6.5
    else:
        np.testing.assert_allclose(result, ranked(1.0), atol=1e-3)


def test_the_message_names_what_and_the_remedy():
    with pytest.raises(NumbersOutOfRange) as refusal:
        check_inputs(CCA, of_images(TRAIN.images * 1e17), "training")
    assert str(refusal.value) == (
        "rows of the training images have a length of about 8e+17 (root of summed squares); the method takes "
        "1e-06 to 1e+08: divide them by 8e+17, or standardise columns"
    )
    with pytest.raises(NumbersOutOfRange, match="rows of the images have a length of about 8e-30"):
        check_inputs(CCA, of_images(TRAIN.images * 1e-30))


def test_a_row_of_zeros_and_a_column_that_hides_the_others_are_remarks():
    zeros = TRAIN.images.copy()
    zeros[[7, 9]] = 0
    column = TRAIN.images.copy()
    column[:, 4] *= 1e4
    assert check_inputs(CCA, TRAIN) == ()
    (remark,) = check_inputs(CCA, of_images(zeros), "training")
    assert remark == (
        "2 of 60 training images have only zeros, first row 7, and rank by chance; compute their features "
        "again, or leave them out"
    )
    (remark,) = check_inputs(CCA, of_images(column))
    assert remark.startswith("column 4 of the images has 100.00 % of the variance of all 12 columns")
    assert remark.endswith("standardise the columns")
    regions = UnitRows.of_counts(np.abs(column), [1] * 60)
    (remark,) = check_inputs(ALIGNMENT, Dataset({"regions": regions}, TRAIN.links))
    assert remark.startswith("column 4 of the regions has 100.00 % of the variance")
    longer = UnitRows.of_counts(TRAIN.images * 1e17, [1] * 60)
    assert check_inputs(ALIGNMENT, Dataset({"regions": longer}, TRAIN.links)) == ()
    bags = sparse.csr_matrix(np.where(np.arange(120)[:, None] == 5, 0, TRAIN.captions))
    (remark,) = check_inputs(CCA, of_images(TRAIN.images, bags))
    assert remark.startswith("1 of 120 captions have only zeros") and remark.endswith(
        "word of theirs is known"
    )


@given(st.integers(1, 7), st.integers(1, 4))
def test_rows_are_looked_at_in_blocks(numbers, rows):
    whole = check_inputs(CCA, of_images(np.zeros((60, 3))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models_core.estimators.inputs._TOGETHER", numbers * rows)
        assert check_inputs(CCA, of_images(np.zeros((60, 3)))) == whole != ()
        with pytest.raises(NumbersOutOfRange):
            check_inputs(CCA, of_images(TRAIN.images * 1e-30))


def test_regions_and_what_is_no_vector_are_looked_at_too():
    alignment = METHODS["alignment"]
    regions = RaggedRows.of_counts(np.full((4, 3), 1e-9, np.float32), [2, 2])
    words = RaggedRows.of_counts(np.arange(3), [1, 2])
    data = Dataset({"images": regions, "captions": words}, {LINK: np.arange(2)})
    with pytest.raises(NumbersOutOfRange, match="rows of the images have a length of about 2e-09"):
        check_inputs(alignment, data)
    nothing = RaggedRows.of_counts(np.empty((0, 3), np.float32), [0, 0])
    assert check_inputs(alignment, dataclasses.replace(data, views={"images": nothing})) == ()


@given(st.integers(-36, 37), st.sampled_from([np.float32, np.float64]))
def test_rows_of_length_1_do_not_depend_on_how_long_they_were(power, dtype):
    rows = np.array([[3, 4, 0], [-5, 0, 12], [0, 0, 0]], dtype)
    expected = np.array([[0.6, 0.8, 0], [-5 / 13, 0, 12 / 13], [0, 0, 0]])
    unit = rows_of_length_1(rows * dtype(10.0**power))
    np.testing.assert_allclose(unit, expected, rtol=1e-5)
    assert unit.dtype == dtype
