"""Networks of torchvision and timm by name, if these are installed, with weights from a file.

Nothing is downloaded: the file contains a state dict of the network, as safetensors or in torch's format
(which is read without running any code in it). The output is the input of the classifier, or the output of a
named layer. Squares, colours and scaling are those that the library publishes for the network.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from models_core.features.image.networks import BadWeights

if TYPE_CHECKING:
    from torch import nn

#: Maximum number of keys of a state dict in a message.
_LISTED = 3


class LibraryMissing(ValueError):
    """The library of a network is not installed; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class _Library:
    """A library: builds a network without weights, returns the published settings of a CNN for it, and
    removes its classifier after the weights are loaded."""

    make: Callable[[ModuleType, str], Any]
    published: Callable[[ModuleType, str], dict[str, Any]]
    without_classifier: Callable[[Any], Any]


def published_settings(network: str) -> dict[str, Any]:
    """Return the published settings of a CNN for a network such as "timm/resnet50".

    Raises LibraryMissing, and BadWeights for a network that the library lacks.
    """
    library, module, name = _library_of(network)
    return _ask(library.published, module, name)


class TorchNetwork:
    """A network of a library with its weights; `output` names a layer, or is empty for the input of the
    classifier.

    Raises LibraryMissing, and BadWeights for a network that the library lacks, weights of another network,
    and an unknown layer.
    """

    #: Any batch size.
    batch: int | None = None

    def __init__(self, network: str, weights: Path, data: bytes, *, side: int, output: str = "") -> None:
        library, module, name = _library_of(network)
        self.label, self.side = weights.name, (side, side)
        model = _ask(library.make, module, name)
        _take_weights(model, weights, data, network)
        model.eval()
        self._taken: list[Any] = []
        if output:
            try:
                layer = model.get_submodule(output)
            except AttributeError:
                known = ", ".join(name for name, _ in model.named_children())
                raise BadWeights(
                    f"network {network!r} has no layer {output!r}; it has {known}, and layers within these"
                ) from None
            layer.register_forward_hook(lambda layer, inputs, out: self._taken.append(out))
        else:
            model = library.without_classifier(model)
        self._model, self._of_layer = model, bool(output)

    def run(self, squares: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the output for squares of shape (pictures, 3, height, width)."""
        import torch

        self._taken.clear()
        with torch.inference_mode():
            output = self._model(torch.from_numpy(np.ascontiguousarray(squares)))
        if self._of_layer:
            output = self._taken[-1] if self._taken else None
        if not isinstance(output, torch.Tensor):
            raise BadWeights(f"{self.label}: its output is no array of numbers; name a layer as the output")
        return np.asarray(output.numpy(), np.float32)


def _library_of(network: str) -> tuple[_Library, ModuleType, str]:
    called, _, name = network.partition("/")
    try:
        module = import_module(called)
    except ModuleNotFoundError as error:
        raise LibraryMissing(
            f"network {network!r} is of {called}, which is not installed: pip install {called}; a network as "
            "an ONNX file needs nothing more"
        ) from error
    return LIBRARIES[called], module, name


def _ask(what: Callable[[ModuleType, str], Any], module: ModuleType, name: str) -> Any:
    try:
        return what(module, name)
    except (AttributeError, KeyError, RuntimeError, ValueError) as error:
        raise BadWeights(f"{module.__name__} has no network {name!r} ({error})") from error


def _take_weights(model: nn.Module, weights: Path, data: bytes, network: str) -> None:
    state = _state_dict(weights, data)
    expected = model.state_dict()
    missing = [name for name in expected if name not in state]
    unknown = [name for name in state if name not in expected]
    shaped = [name for name in expected if name in state and expected[name].shape != state[name].shape]
    for names, what in ((missing, "lacks"), (unknown, "has besides"), (shaped, "has in another shape")):
        if names:
            listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
            raise BadWeights(
                f"{weights}: is not of network {network!r}: it {what} {len(names)} of its arrays ({listed})"
            )
    model.load_state_dict(state)


def _state_dict(weights: Path, data: bytes) -> Mapping[str, Any]:
    """Return arrays by name. Raises BadWeights for a file with any other content."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        if weights.suffix.lower() == ".safetensors":
            return load(data)
        loaded: Any = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except SafetensorError as error:
        raise BadWeights(f"{weights}: is no file of safetensors ({error})") from error
    except Exception as error:  # pickle, zip and torch have their own exception for each kind of error
        raise BadWeights(
            f"{weights}: is no state dict that torch reads; expected one of arrays alone"
        ) from error
    for key in ("state_dict", "model"):  # the usual keys of those who train with either library
        if isinstance(loaded, Mapping) and isinstance(loaded.get(key), Mapping):
            loaded = loaded[key]
    if not isinstance(loaded, Mapping) or not all(
        isinstance(tensor, torch.Tensor) for tensor in loaded.values()
    ):
        raise BadWeights(f"{weights}: holds something else than a state dict; save model.state_dict()")
    return loaded


def _published_by_torchvision(module: ModuleType, name: str) -> dict[str, Any]:
    transforms = module.models.get_model_weights(name).DEFAULT.transforms()
    return {
        "side": int(transforms.crop_size[0]),
        "shorter": int(transforms.resize_size[0]),
        "mean": tuple(transforms.mean),
        "deviation": tuple(transforms.std),
        "interpolation": str(transforms.interpolation.value),
    }


def _published_by_timm(module: ModuleType, name: str) -> dict[str, Any]:
    published = module.data.resolve_model_data_config(module.create_model(name, pretrained=False))
    side = int(published["input_size"][1])
    return {
        "side": side,
        "shorter": int(side / float(published["crop_pct"])),
        "mean": tuple(published["mean"]),
        "deviation": tuple(published["std"]),
        "interpolation": str(published["interpolation"]),
    }


def _input_of_last_layer(model: nn.Module) -> nn.Module:
    """Return a model whose output is the input of the network's last linear or convolutional layer, its
    classifier."""
    import torch

    class Before(torch.nn.Module):
        """The network, returning the input of its last layer."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.taken: list[torch.Tensor] = []
            layers = (torch.nn.Linear, torch.nn.Conv2d)
            last = [module for module in model.modules() if isinstance(module, layers)][-1]
            last.register_forward_pre_hook(lambda layer, inputs: self.taken.append(inputs[0]))

        def forward(self, squares: torch.Tensor) -> torch.Tensor:
            self.taken.clear()
            self.model(squares)
            return self.taken[-1]

    return Before()


def _reset(model: Any) -> Any:
    model.reset_classifier(0)
    return model


#: Libraries by the name of their package.
LIBRARIES: Mapping[str, _Library] = {
    "torchvision": _Library(
        lambda module, name: module.models.get_model(name, weights=None),
        _published_by_torchvision,
        _input_of_last_layer,
    ),
    "timm": _Library(
        lambda module, name: module.create_model(name, pretrained=False), _published_by_timm, _reset
    ),
}
