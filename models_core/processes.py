"""Processes that train one network together, started by torch's `torchrun`; a single process without it.

Each process has the same network and the same data, takes its part of every batch, and makes the same step:
torch's DistributedDataParallel averages the gradients. Only the first process writes.
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
    """The number of processes, and the index of this one, counted from 0."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def part(self, items: NDArray[Any]) -> NDArray[Any]:
        """Return this process's part of the items; the parts are consecutive, and some may be empty."""
        return np.array_split(items, self.count)[self.rank]

    def wait(self) -> None:
        """Wait until all processes have arrived here."""
        if self.count > 1:
            _distributed().barrier()

    def broadcast(self, value: Any) -> Any:
        """Return the value that the first process passes; all processes must call this."""
        if self.count == 1:
            return value
        held = [value]
        _distributed().broadcast_object_list(held)
        return held[0]

    def summed(self, value: float) -> float:
        """Return the sum of the values that all processes pass."""
        if self.count == 1:
            return value
        totals: list[float] = [0.0] * self.count
        _distributed().all_gather_object(totals, value)
        return sum(totals)


def _distributed() -> Any:
    import torch.distributed

    return torch.distributed


def started_processes() -> int:
    """Return the number of processes that torchrun has started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first_process() -> bool:
    """Return whether this process is the first that torchrun started, or the only one."""
    return os.environ.get("RANK", "0") == "0"


def present_processes() -> Processes:
    """Return the joined processes; only this one if none have joined."""
    if started_processes() == 1:
        return Processes()
    distributed = _distributed()
    if not distributed.is_initialized():
        return Processes()
    return Processes(distributed.get_rank(), distributed.get_world_size())


@contextmanager
def joined_processes(device: str) -> Iterator[tuple[Processes, str]]:
    """Connect the processes that torchrun started; yield them and this one's device.

    On "cuda" each process uses the card with its local index. Raises NoDevice.
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
