"""The device for heavy numerics: NumPy on the CPU, or torch on a GPU.

Names of devices are torch's: "cpu" (the default; torch is then not imported), "cuda", or "cuda:0" for one of
several. "torch:cpu" is torch on the CPU: it is no faster, but tests the code for GPUs on a machine without
one.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

CPU = "cpu"
_NAMES = re.compile(r"cuda(:(0|[1-9][0-9]*))?")


class NoDevice(ValueError):
    """A device that is unknown, missing, or too small; the message is one line with the remedy."""


@dataclass(frozen=True, slots=True)
class Torch:
    """Torch and a device. Tensors have type Any, since torch is imported on use only."""

    torch: Any
    device: Any

    def put(self, array: NDArray[Any]) -> Any:
        """Return the array as a tensor on the device, of the same type; it must not be written to."""
        # Torch warns about read-only arrays, such as memory-mapped ones.
        return self.torch.from_numpy(np.require(array, requirements=["C", "W"])).to(self.device)

    def product(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return left @ right, computed on the device in double precision."""
        return host(self.put(left) @ self.put(right))

    def free(self) -> None:
        """Return unused memory to the device: torch caches it otherwise."""
        if self.device.type == "cuda":
            self.torch.cuda.empty_cache()


def torch_on(device: str) -> Torch | None:
    """Return torch on `device`; None for "cpu", which needs none. Raises NoDevice."""
    if device == CPU:
        return None
    if device != "torch:cpu" and not _NAMES.fullmatch(device):
        raise NoDevice(f"device {device}: unknown; expected cpu, cuda, or one of several such as cuda:0")
    try:
        import torch
    except ImportError:
        raise NoDevice(f"device {device}: torch is not installed; install it, or use cpu") from None
    if device == "torch:cpu":
        return Torch(torch, torch.device("cpu"))
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not there:
        raise NoDevice(f"device {device}: this machine has no CUDA device; use cpu")
    if int(device.partition(":")[2] or 0) >= there:
        raise NoDevice(f"device {device}: this machine has {there} CUDA devices, cuda:0 to cuda:{there - 1}")
    return Torch(torch, torch.device(device))


def torch_for(device: str) -> Torch:
    """Return torch on `device`, including the CPU. Raises NoDevice."""
    array_api = torch_on("torch:cpu" if device == CPU else device)
    assert array_api is not None
    return array_api


@contextmanager
def memory_of(on: Torch | None) -> Iterator[None]:
    """Context in which a device that is out of memory raises NoDevice; has no effect without a device."""
    if on is None:
        yield
        return
    try:
        yield
    except on.torch.OutOfMemoryError:
        raise NoDevice(f"device {on.device}: too little memory for this many items; use cpu") from None


def host(values: Any) -> NDArray[np.float64]:
    """Return a tensor's values as a NumPy array; an array is returned unchanged."""
    return values if isinstance(values, np.ndarray) else np.asarray(values.cpu().numpy())
