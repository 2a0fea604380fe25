"""Training by gradient steps: epochs of batches, looks at held-out data, the best models, checkpoints.

Each epoch puts all pairs into new batches. Gradients are clipped number by number. After each epoch the
held-out data is looked at, and the best models are kept. Which rate and weight decay: `rate_choice`.

The order of an epoch and the numbers that a step leaves out come from the generator of that epoch and that
step alone. So a training that goes on after a checkpoint ends as one that was never stopped, to the bit on a
CPU.

Source: Karpathy and Fei-Fei 2015, section 3.3.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from models_core.estimators.base import FitContext
from models_core.estimators.neural.network import Dropout
from models_core.estimators.neural.settings import AlignmentSettings, CaptionerSettings
from models_core.processes import present_processes
from phrasebox.scoring.tiles import NotANumber
from phrasebox.threads import ThreadLimit

NamedArrays = dict[str, NDArray[Any]]
#: What every training by gradient steps is told.
StepSettings: TypeAlias = AlignmentSettings | CaptionerSettings
#: Multiplications of a step below which threads cost more than they gain: they wait for each other
#: actively, and where something else runs on the machine, small steps take many times as long.
_LITTLE = 5e7
_BIGGEST_SEED = 2**63
#: Kinds of devices on which networks multiply in bfloat16 while they learn; weights, scores and losses are in
#: single precision everywhere.
_IN_HALF = frozenset(("cuda",))
#: Called as a run proceeds.
ReportProgress = Callable[[], None]


class Diverged(ValueError):
    """A loss, or a held-out figure, is no number any more; the message names the step, or the epoch."""


@dataclass(frozen=True, slots=True)
class StepSizes:
    """The learning rate and the weight decay of a run."""

    rate: float
    decay: float


@dataclass(frozen=True, slots=True)
class Member:
    """A model of a run: how good it was on held-out data, after which epoch, and its weights."""

    quality: float
    epoch: int
    weights: NamedArrays


class GradientRun(ABC):
    """A training with one rate and decay, from its first step on.

    `name` tells its random generator from those of other runs of the same training. It has `pairs` to learn
    from, and its `network` is on `device`. `figure` is what its held-out figure is called. Several processes
    make each step together; what learns calls `parallel`, which is the network itself where there is one.
    """

    figure: ClassVar[str] = "recall"

    def __init__(
        self,
        name: str,
        pairs: int,
        network: nn.Module,
        settings: StepSettings,
        sizes: StepSizes,
        context: FitContext,
    ) -> None:
        self.name, self.pair_count, self.network, self.context = name, pairs, network, context
        self.steps, self.sizes = settings, sizes
        self.device = next(network.parameters()).device
        self.processes = present_processes()
        self.dropout = Dropout(settings.dropout, self.device)
        learned = [weights for weights in network.parameters() if weights.requires_grad]
        self.optimizer = self.new_optimizer(learned, sizes)
        self.epoch = self.batch = 0
        self.loss = 0.0
        self.curve: list[tuple[float, float, float]] = []
        self.members: list[Member] = []

    @cached_property
    def parallel(self) -> nn.Module:
        """What embeds or says what is learned from, so that the gradients of all processes are averaged."""
        return self.network if self.processes.count == 1 else DistributedDataParallel(self.network)

    @abstractmethod
    def new_optimizer(self, weights: list[nn.Parameter], sizes: StepSizes) -> torch.optim.Optimizer:
        """What makes a step of a gradient."""

    @abstractmethod
    def batch_loss(self, batch: NDArray[np.intp]) -> torch.Tensor:
        """The loss of these pairs, a sum over what they have to learn."""

    @abstractmethod
    def held_out_figure(self) -> float:
        """How the network does on held-out data now: the figure of the learning curve."""

    @property
    @abstractmethod
    def multiplications(self) -> float:
        """About how many a step has."""

    @property
    def losses(self) -> float:
        """How many losses an epoch adds up; the curve has their mean."""
        return self.pair_count

    def quality(self, figure: float) -> float:
        """How good a held-out figure is, from 0 on: the higher, the better."""
        return figure

    @property
    def batches(self) -> int:
        """Batches of an epoch."""
        return -(-self.pair_count // self.steps.batch)

    def train(
        self,
        epochs: int,
        *,
        looks: bool,
        report_progress: ReportProgress,
        save_checkpoint: Callable[[], None] | None = None,
    ) -> None:
        """Go on until `epochs` are done; the network `looks` at held-out data after each.

        `save_checkpoint` is called after each, and when a checkpoint is due. Raises Diverged.
        """
        with fitting_threads(self.multiplications):
            self._train(epochs, looks, report_progress, save_checkpoint)

    def _train(
        self,
        epochs: int,
        looks: bool,
        report_progress: ReportProgress,
        save_checkpoint: Callable[[], None] | None,
    ) -> None:
        while self.epoch < epochs:
            for batch in self.epoch_batches():
                report_progress()
                self.loss += self.step(batch)
                self.batch += 1
                if save_checkpoint and self.context.checkpoints.due:
                    save_checkpoint()
            self.epoch, self.batch = self.epoch + 1, 0
            figure = self._figure_now() if looks else 0.0
            self.curve.append((self.epoch, self.loss / self.losses, figure))
            self.loss = 0.0
            self._remember(self.quality(figure) if looks else 0.0, latest=not looks)
            if save_checkpoint:
                save_checkpoint()
        report_progress()

    def _figure_now(self) -> float:
        """The held-out figure; raises Diverged where it is no number.

        The last step of an epoch has no loss after it, and held-out sentences may be longer than others.
        """
        try:
            figure = self.held_out_figure()
        except NotANumber:
            figure = np.nan
        if not np.isfinite(figure):
            raise Diverged(
                f"the held-out {self.figure} is no number after epoch {self.epoch}, with the learning rate "
                f"{self.sizes.rate:g}; choose a smaller one"
            )
        return figure

    def step(self, batch: NDArray[np.intp]) -> float:
        """One gradient step on these pairs; their loss before it."""
        self.network.train()
        apart = "" if self.processes.first else f", process {self.processes.rank}"
        rng = self.context.rng(f"dropout, {self.name}, {self.epoch}, {self.batch}{apart}")
        self.dropout.seed(int(rng.integers(_BIGGEST_SEED)))
        loss = self.batch_loss(batch)
        reported_loss = self.whole_loss(float(loss.detach()))
        if not np.isfinite(reported_loss):
            raise Diverged(
                f"the loss is {reported_loss} in epoch {self.epoch + 1}, batch {self.batch + 1}, with the "
                f"learning rate {self.sizes.rate:g}; choose a smaller one"
            )
        self.optimizer.zero_grad(set_to_none=True)
        self.scaled(loss, batch).backward()
        torch.nn.utils.clip_grad_value_(self.network.parameters(), self.steps.clip)
        self.optimizer.step()
        return reported_loss

    def whole_loss(self, loss: float) -> float:
        """The loss of the whole batch, of what `batch_loss` gave here: the same, unless a method says
        otherwise."""
        return loss

    def scaled(self, loss: torch.Tensor, batch: NDArray[np.intp]) -> torch.Tensor:
        """The loss that a step goes down: the sum itself, unless a method says otherwise."""
        return loss

    def state(self) -> tuple[NamedArrays, dict[str, Any]]:
        """All that the next step depends on, and what was learned so far."""
        arrays = {f"weights.{name}": tensor for name, tensor in network_weights(self.network).items()}
        for index, tensor in self.optimizer.state_dict()["state"].items():
            arrays |= {f"optimizer.{index}.{name}": numbers.cpu().numpy() for name, numbers in tensor.items()}
        for index, member in enumerate(self.members):
            arrays |= {f"member.{index}.{name}": tensor for name, tensor in member.weights.items()}
        return arrays, {
            "epoch": self.epoch,
            "batch": self.batch,
            "loss": self.loss,
            "curve": [list(row) for row in self.curve],
            "figure": self.figure,
            "members": [[member.quality, member.epoch] for member in self.members],
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> None:
        """Take back what `state` gave; raises KeyError where something is missing."""
        load_weights(self.network, arrays_under("weights.", arrays))
        optimizer_states: dict[int, dict[str, torch.Tensor]] = {}
        for name, array in arrays_under("optimizer.", arrays).items():
            index, _, key = name.partition(".")
            optimizer_states.setdefault(int(index), {})[key] = torch.from_numpy(np.array(array)).to(
                self.device
            )
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": optimizer_states})
        self.members = [
            Member(quality, epoch, arrays_under(f"member.{index}.", arrays))
            for index, (quality, epoch) in enumerate(settings["members"])
        ]
        self.curve = [(row[0], row[1], row[2]) for row in settings["curve"]]
        self.epoch, self.batch, self.loss = settings["epoch"], settings["batch"], settings["loss"]

    def epoch_batches(self) -> Iterator[NDArray[np.intp]]:
        """The batches of this epoch that have not been learned from yet."""
        order = self.context.rng(f"order, {self.name}, {self.epoch}").permutation(self.pair_count)
        size = self.steps.batch
        for start in range(self.batch * size, len(order), size):
            yield order[start : start + size]

    def _remember(self, quality: float, *, latest: bool) -> None:
        """Keep this model among the best, of equal ones the earlier; or, if `latest`, among the last."""
        current = Member(quality, self.epoch, network_weights(self.network))
        if latest:
            ranked = [current, *self.members]
        else:
            ranked = sorted([*self.members, current], key=lambda member: (-member.quality, member.epoch))
        self.members = ranked[: self.steps.members]

    def in_half(self) -> AbstractContextManager[None]:
        """Inside, a network multiplies in bfloat16 where the device is made for it."""
        if self.device.type not in _IN_HALF:
            return nullcontext()
        half: AbstractContextManager[None] = torch.autocast(self.device.type, torch.bfloat16)
        return half

    def on_device(self, *arrays: NDArray[Any]) -> tuple[torch.Tensor, ...]:
        """The arrays as tensors where the network is."""
        return tuple(torch.from_numpy(array).to(self.device) for array in arrays)


class _Gathered(torch.autograd.Function):
    """The rows of every process, shape (processes, ...), in each of them.

    All processes have the same loss of the same rows. So the gradient of this one's is whole here, and is
    multiplied by their number, since gradients of weights are averaged afterwards.
    """

    @staticmethod
    def forward(context: Any, local_rows: torch.Tensor) -> torch.Tensor:
        parts = [torch.empty_like(local_rows) for _ in range(torch.distributed.get_world_size())]
        torch.distributed.all_gather(parts, local_rows.contiguous())
        return torch.stack(parts)

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> torch.Tensor:
        (whole,) = gradients
        return whole[torch.distributed.get_rank()] * len(whole)


def gathered_rows(local_rows: torch.Tensor) -> torch.Tensor:
    """The rows of every process, of one shape, with their gradients; shape (processes, ...)."""
    gathered: torch.Tensor = _Gathered.apply(local_rows)
    return gathered


def fitting_threads(multiplications: float) -> AbstractContextManager[None]:
    """One thread of torch inside where a step has few `multiplications`; a setting of the whole process."""
    return _TORCH.held() if multiplications < _LITTLE else nullcontext()


def _one_torch_thread() -> Callable[[], None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    return lambda: torch.set_num_threads(before)


_TORCH = ThreadLimit(_one_torch_thread)


def network_weights(network: nn.Module) -> NamedArrays:
    """Copies of the weights, by name."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()}


def load_weights(network: nn.Module, weights: Mapping[str, NDArray[Any]]) -> None:
    """Give a network these weights; raises KeyError where one is missing."""
    missing = network.state_dict().keys() - weights.keys()
    if missing:
        raise KeyError(min(missing))
    network.load_state_dict({name: torch.from_numpy(np.array(weight)) for name, weight in weights.items()})


def arrays_under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> NamedArrays:
    """Those whose names begin so, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
