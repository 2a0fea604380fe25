"""Networks of torchvision and timm by name, here small stand-ins: their weights come from a file, and squares
and colours are as published. Invalid input is reported."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from models_core.features.image.cnn import CNN, CNNSettings, cnn_settings, pooled_maps
from models_core.features.image.networks import BadWeights
from models_core.features.image.pictures import Picture, read_picture
from models_core.features.image.torch_networks import LibraryMissing
from tests.models_core.features.image import fake_libraries
from tests.models_core.features.image.fake_libraries.small import Small

LIBRARIES = ("torchvision", "timm")


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The stand-ins, as if they were installed."""
    monkeypatch.syspath_prepend(Path(fake_libraries.__file__).parent)
    for name in LIBRARIES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in LIBRARIES:
        sys.modules.pop(name, None)


@pytest.fixture
def trained() -> Small:
    torch.manual_seed(3)
    small = Small()
    small.norm.running_mean.normal_()
    return small.eval()


@pytest.fixture
def weights(trained: Small, tmp_path: Path) -> Path:
    save_file(trained.state_dict(), tmp_path / "w.safetensors")
    return tmp_path / "w.safetensors"


@pytest.fixture
def picture(tmp_path: Path) -> Picture:
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 256, (20, 24, 3), np.uint8)).save(tmp_path / "p.png")
    return read_picture(tmp_path / "p.png")


def by_hand(trained: Small, picture: Picture, *, shorter: int, how: Image.Resampling) -> torch.Tensor:
    """Return the output of the convolution for the square of 16 in the middle, with published colours."""
    image = Image.open(picture.path)
    size = tuple(round(side * shorter / 20) for side in image.size)
    scaled = image.resize(size, how)  # type: ignore[arg-type]
    left, top = (size[0] - 16) // 2, (size[1] - 16) // 2
    square = np.asarray(scaled.crop((left, top, left + 16, top + 16)), np.float32) / 255
    square = (square - 0.5) / np.array([0.25, 0.5, 0.5], np.float32)
    with torch.no_grad():
        tensor: torch.Tensor = trained.conv1(torch.from_numpy(square.transpose(2, 0, 1)[None].copy()))
    return tensor


@pytest.mark.parametrize(
    ("library", "shorter", "how"),
    [("torchvision", 20, Image.Resampling.BILINEAR), ("timm", 18, Image.Resampling.BICUBIC)],
)
def test_what_comes_before_the_classifier_is_the_vector_and_squares_are_as_published(
    trained: Small, weights: Path, picture: Picture, library: str, shorter: int, how: Image.Resampling
) -> None:
    settings = cnn_settings({"network": f"{library}/small"})
    assert (settings.side, settings.shorter, settings.deviation) == (16, shorter, (0.25, 0.5, 0.5))
    network = CNN(weights, settings)
    assert (network.dimensions, network.side) == (4, (16, 16))
    maps = by_hand(trained, picture, shorter=shorter, how=how)
    with torch.no_grad():
        expected = torch.relu(trained.norm(maps)).mean(dim=(2, 3)).numpy()
    np.testing.assert_allclose(network.describe([picture, picture]), np.repeat(expected, 2, 0), atol=1e-5)
    again = network.describe([picture])
    np.testing.assert_allclose(again, expected, atol=1e-5)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_layer_is_taken_by_its_name_and_pooled(
    trained: Small, weights: Path, picture: Picture, library: str
) -> None:
    provided = {"network": f"{library}/small", "output": "conv1", "pooling": "rmac", "shorter": 20}
    result = CNN(weights, cnn_settings({**provided, "interpolation": "bilinear"})).describe([picture])
    maps = by_hand(trained, picture, shorter=20, how=Image.Resampling.BILINEAR)
    np.testing.assert_allclose(result, pooled_maps(maps.numpy(), "rmac"), atol=1e-5)


@pytest.mark.parametrize("stored", ["bare", "state_dict", "model"])
def test_weights_as_torch_writes_them_give_the_same_vectors(
    trained: Small, weights: Path, picture: Picture, tmp_path: Path, stored: str
) -> None:
    state = trained.state_dict()
    torch.save(state if stored == "bare" else {stored: state, "epoch": 3}, tmp_path / "w.pth")
    settings = cnn_settings({"network": "timm/small"})
    result = CNN(tmp_path / "w.pth", settings).describe([picture])
    np.testing.assert_array_equal(result, CNN(weights, settings).describe([picture]))


class _Harm:
    def __reduce__(self) -> tuple[type, tuple[str]]:
        return Path, ("harm",)


def test_what_is_no_state_dict_of_the_network_is_named(trained: Small, weights: Path, tmp_path: Path) -> None:
    settings = cnn_settings({"network": "timm/small"})
    state = trained.state_dict()
    lacking = {name: value for name, value in state.items() if not name.startswith("conv1")}
    for changed, expected in (
        (lacking, r"is not of network 'timm/small': it lacks 2 of its arrays \(conv1.weight, conv1.bias\)"),
        ({**state, "extra": torch.ones(1)}, r"it has besides 1 of its arrays \(extra\)"),
        ({**state, "fc.bias": torch.ones(9)}, r"it has in another shape 1 of its arrays \(fc.bias\)"),
    ):
        save_file(changed, tmp_path / "other.safetensors")
        with pytest.raises(BadWeights, match=expected):
            CNN(tmp_path / "other.safetensors", settings)
    (tmp_path / "torn.safetensors").write_bytes(weights.read_bytes()[:50])
    with pytest.raises(BadWeights, match=r"torn.safetensors: is no file of safetensors \("):
        CNN(tmp_path / "torn.safetensors", settings)
    (tmp_path / "harm.pth").write_bytes(pickle.dumps({"conv1.weight": _Harm()}, protocol=2))
    with pytest.raises(
        BadWeights, match=r"harm.pth: is no state dict that torch reads; expected one of arra"
    ):
        CNN(tmp_path / "harm.pth", settings)
    torch.save([1, 2], tmp_path / "list.pth")
    with pytest.raises(BadWeights, match="list.pth: holds something else than a state dict"):
        CNN(tmp_path / "list.pth", settings)


def test_an_unknown_network_layer_or_library_is_named(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in LIBRARIES:
        with pytest.raises(BadWeights, match=f"{library} has no network 'large'"):
            cnn_settings({"network": f"{library}/large"})
    with pytest.raises(BadWeights, match=r"has no layer 'layer9'; it has conv1, norm, fc, and layers within"):
        CNN(weights, cnn_settings({"network": "timm/small", "output": "layer9"}))
    for name in ("hf-hub:somebody/network", "timm/hf_hub:a", "os/system", "timm/"):
        with pytest.raises(ValueError, match="network is"):
            CNNSettings(network=name)
    monkeypatch.setitem(sys.modules, "timm", None)  # as if it is not installed
    with pytest.raises(
        LibraryMissing,
        match="network 'timm/small' is of timm, which is not installed: pip install timm; a network as an "
        "ONNX file needs nothing more",
    ):
        cnn_settings({"network": "timm/small"})


def test_settings_that_came_later_leave_the_digests_of_sets_as_they_were() -> None:
    usual = CNNSettings().changed_settings
    assert {"network", "side", "interpolation"}.isdisjoint(usual)
    assert CNNSettings(interpolation="bicubic").changed_settings == {**usual, "interpolation": "bicubic"}
    named = cnn_settings({"network": "timm/small"}).changed_settings
    assert (named["network"], named["side"]) == ("timm/small", 16)
