"""The functions of timm that are used."""

from types import SimpleNamespace
from typing import Any

from tests.models_core.features.image.fake_libraries.small import Small


def create_model(name: str, pretrained: bool) -> Small:
    """Same signature as timm's; nothing may be downloaded."""
    assert not pretrained
    if name != "small":
        raise RuntimeError(f"Unknown model ({name})")
    return Small()


def _config(model: Any) -> dict[str, Any]:
    return {
        "input_size": (3, 16, 16),
        "interpolation": "bicubic",
        "mean": (0.5, 0.5, 0.5),
        "std": (0.25, 0.5, 0.5),
        "crop_pct": 0.875,
        "crop_mode": "center",
    }


data = SimpleNamespace(resolve_model_data_config=_config)
