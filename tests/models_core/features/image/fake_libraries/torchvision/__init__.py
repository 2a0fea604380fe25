"""The functions of torchvision that are used."""

from types import SimpleNamespace
from typing import Any

from tests.models_core.features.image.fake_libraries.small import Small


def _model(name: str, weights: None) -> Small:
    assert weights is None, "nothing may be downloaded"
    if name != "small":
        raise ValueError(f"Unknown model {name}")
    return Small()


def _weights(name: str) -> Any:
    _model(name, None)
    transforms = SimpleNamespace(
        crop_size=[16],
        resize_size=[20],
        mean=[0.5, 0.5, 0.5],
        std=[0.25, 0.5, 0.5],
        interpolation=SimpleNamespace(value="bilinear"),
    )
    return SimpleNamespace(DEFAULT=SimpleNamespace(transforms=lambda: transforms))


models = SimpleNamespace(get_model=_model, get_model_weights=_weights)
