"""Processes that train one network together, as torch's `torchrun` starts them; alone where it does not.

Each process has the same network and the same data, takes its part of every batch, and makes the same step:
torch's DistributedDataParallel brings the gradients together. The first process alone writes.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasebox.device import torch_for


@dataclass(frozen=True, slots=True)
class Processes:
    """How many there are, and which of them this is, counted from 0."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the one that writes."""
        return self.rank == 0

    def part(self, items: NDArray[Any]) -> NDArray[Any]:
        """This process's part of the items; the parts follow each other, and some may be empty."""
        return np.array_split(items, self.count)[self.rank]

    def wait(self) -> None:
        """Until all have come here."""
        if self.count > 1:
            _distributed().barrier()

    def broadcast(self, value: Any) -> Any:
        """What the first process passes; all of them must ask."""
        if self.count == 1:
            return value
        held = [value]
        _distributed().broadcast_object_list(held)
        return held[0]

    def summed(self, value: float) -> float:
        """The sum of what all processes pass."""
        if self.count == 1:
            return value
        totals: list[float] = [0.0] * self.count
        _distributed().all_gather_object(totals, value)
        return sum(totals)


def _distributed() -> Any:
    import torch.distributed

    return torch.distributed


def started_processes() -> int:
    """How many processes torchrun has started; 1 where it has not."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first_process() -> bool:
    """Whether this one is the first that torchrun started, or alone."""
    return os.environ.get("RANK", "0") == "0"


def present_processes() -> Processes:
    """Those that have joined; this one alone where none have."""
    if started_processes() == 1:
        return Processes()
    distributed = _distributed()
    if not distributed.is_initialized():
        return Processes()
    return Processes(distributed.get_rank(), distributed.get_world_size())


@contextmanager
def joined_processes(device: str) -> Iterator[tuple[Processes, str]]:
    """Inside, the processes that torchrun started know each other; and the device that is this one's.

    On "cuda" each takes the card of its place on its machine. Raises NoDevice.
    """
    if started_processes() == 1:
        yield Processes(), device
        return
    on_cards = device.startswith("cuda")
    own_device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if on_cards else device
    torch_for(own_device)
    distributed = _distributed()
    distributed.init_process_group("nccl" if on_cards else "gloo")
    try:
        yield present_processes(), own_device
    finally:
        distributed.destroy_process_group()
