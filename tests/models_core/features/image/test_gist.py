"""GIST compared with a reference of explicit sums, and gratings to which the right filter responds."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

from models_core.features.image.gist import gabor_filters, gist, local_contrast


def dft(side: int) -> np.ndarray:
    """Return the matrix of a discrete Fourier transform."""
    return np.array([[cmath.exp(-2j * math.pi * a * b / side) for b in range(side)] for a in range(side)])


def signed(index: int, side: int) -> int:
    return index if index < side / 2 else index - side


def mirrored(channel: np.ndarray, border: int) -> np.ndarray:
    side = len(channel)

    def inside(index: int) -> int:
        index -= border
        return -index - 1 if index < 0 else 2 * side - index - 1 if index >= side else index

    rows = [inside(index) for index in range(side + 2 * border)]
    return channel[np.ix_(rows, rows)]


def slow_gist(colours: np.ndarray, orientations: tuple[int, ...], blocks: int) -> list[float]:
    side, border = len(colours), len(colours) // 4
    wide = side + 10
    to = dft(wide)
    back = to.conj() / wide
    low = np.empty((wide, wide))
    for a in range(wide):
        for b in range(wide):
            square = signed(a, wide) ** 2 + signed(b, wide) ** 2
            low[a, b] = math.exp(-square / (4 / math.sqrt(math.log(2))) ** 2)
    logs = [mirrored(np.log(colours[:, :, c] + 1.0), 5) for c in range(3)]
    high = [item - (back @ (to @ item @ to * low) @ back).real for item in logs]
    mean = (high[0] + high[1] + high[2]) / 3
    contrast = np.sqrt(np.abs((back @ (to @ mean**2 @ to * low) @ back).real))
    even = [(item / (0.2 + contrast))[5:-5, 5:-5] for item in high]
    full = side + 2 * border
    to = dft(full)
    back = to.conj() / full
    result = []
    for item in even:
        spectrum = to @ mirrored(item, border) @ to
        for scale, number in enumerate(orientations):
            for index in range(number):
                response = np.empty((full, full))
                for a in range(full):
                    for b in range(full):
                        y, x = signed(a, full) / full, signed(b, full) / full
                        ratio = math.hypot(x, y) / (0.3 / 1.85**scale)
                        turned = cmath.phase(
                            cmath.rect(1, math.atan2(y, x)) * cmath.rect(1, math.pi * index / number)
                        )
                        response[a, b] = math.exp(
                            -10 * 0.35 * (ratio - 1) ** 2 - 2 * (16 * number**2 / 32**2) * math.pi * turned**2
                        )
                sizes = np.abs(back @ (spectrum * response) @ back)
                inner = sizes[border : border + side, border : border + side]
                for i in range(blocks):
                    for j in range(blocks):
                        part = inner[
                            i * side // blocks : (i + 1) * side // blocks,
                            j * side // blocks : (j + 1) * side // blocks,
                        ]
                        result.append(part.mean())
    return result


def test_gist_is_what_sums_written_out_give():
    colours = np.random.default_rng(0).integers(0, 256, (19, 19, 3), dtype=np.uint8)
    result = gist(colours, (3, 2), 2)
    assert result.shape == (3 * 5 * 4,) and result.dtype == np.float32
    np.testing.assert_allclose(result, slow_gist(colours, (3, 2), 2), atol=1e-6)


def test_the_papers_gist_has_960_numbers():
    assert gist(np.full((64, 64, 3), 7, np.uint8)).shape == (960,)


@pytest.mark.parametrize(("scale", "index"), [(0, 0), (0, 3), (0, 6), (1, 2), (1, 5)])
def test_a_grating_is_answered_by_the_filter_of_its_angle_and_frequency(scale, index):
    angle, frequency = -math.pi * index / 8, 0.3 / 1.85**scale
    y, x = np.mgrid[:64, :64]
    next_round = np.cos(2 * math.pi * frequency * (x * math.cos(angle) + y * math.sin(angle)))
    colours = np.repeat((128 + 60 * next_round)[:, :, None], 3, axis=2).astype(np.uint8)
    mean = gist(colours, (8, 8), 4).reshape(3, 16, 16).mean(axis=(0, 2))
    assert mean.argmax() == 8 * scale + index
    across = 8 * scale + (index + 4) % 8
    assert mean[across] < mean.max() / 10


def test_each_half_of_a_picture_answers_by_itself():
    _, x = np.mgrid[:64, :64]
    next_round = 128 + 60 * np.cos(2 * math.pi * 0.3 * x)
    next_round[:, 32:] = 128
    result = gist(np.repeat(next_round[:, :, None], 3, axis=2).astype(np.uint8)).reshape(3, 20, 4, 4)
    assert (result[:, 0, :, 0] > 10 * result[:, 0, :, 3]).all()


def test_light_and_contrast_of_the_whole_picture_hardly_count():
    rng = np.random.default_rng(1)
    dark = rng.integers(20, 80, (64, 64, 3)).astype(np.uint8)
    np.testing.assert_allclose(local_contrast(dark * 3), local_contrast(dark), atol=0.1)
    assert np.abs(local_contrast(np.full((32, 32, 3), 90, np.uint8))).max() < 1e-9


def test_filters_do_not_pass_the_mean():
    assert gabor_filters(48, (8, 8, 4))[:, 0, 0].max() < 0.05
