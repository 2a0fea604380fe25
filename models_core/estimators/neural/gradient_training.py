"""Training by gradient steps: epochs of batches, evaluation on held-out data, the best models, checkpoints.

Each epoch divides all pairs into new batches. Gradients are clipped elementwise. After each epoch the
held-out data is evaluated, and the best models are kept. `rate_choice` chooses learning rate and weight
decay.

The order of an epoch and the dropout of a step come from the generator of that epoch and that step alone. So
a training that continues after a checkpoint has bitwise the same result as an uninterrupted one, on a CPU.

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
from models_core.estimators.neural.settings import AlignmentSettings, CaptionerSettings, EmbedderSettings
from models_core.processes import present_processes
from phrasebox.scoring.tiles import NotANumber
from phrasebox.threads import ThreadLimit

NamedArrays = dict[str, NDArray[Any]]
#: The settings of any training by gradient steps.
StepSettings: TypeAlias = AlignmentSettings | CaptionerSettings | EmbedderSettings
#: Number of multiplications of a step below which threads cost more than they gain: they wait for each other
#: actively, and if something else runs on the machine, small steps take many times as long.
_LITTLE = 5e7
_BIGGEST_SEED = 2**63
#: Kinds of devices on which networks are trained in bfloat16; weights, scores and losses are in single
#: precision everywhere.
_IN_HALF = frozenset(("cuda",))
#: Called as a run proceeds.
ReportProgress = Callable[[], None]


class Diverged(ValueError):
    """A loss, or a held-out figure, is not a number any more; the message names the step, or the epoch."""


@dataclass(frozen=True, slots=True)
class StepSizes:
    """The learning rate and the weight decay of a run."""

    rate: float
    decay: float


@dataclass(frozen=True, slots=True)
class Member:
    """A model of a run: its quality on held-out data, its epoch, and its weights."""

    quality: float
    epoch: int
    weights: NamedArrays


class GradientRun(ABC):
    """A training with one rate and decay, from its first step.

    `name` distinguishes its random generator from those of other runs of the same training. It learns from
    `pairs`, and its `network` is on `device`. `figure` is the name of its held-out figure. Several processes
    make each step together; training calls `parallel`, which is the network itself if there is only one
    process.
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
        """The network for training, which averages the gradients of all processes."""
        return self.network if self.processes.count == 1 else DistributedDataParallel(self.network)

    @abstractmethod
    def new_optimizer(self, weights: list[nn.Parameter], sizes: StepSizes) -> torch.optim.Optimizer:
        """Return the optimiser."""

    @abstractmethod
    def batch_loss(self, batch: NDArray[np.intp]) -> torch.Tensor:
        """Return the loss of these pairs, a sum over their parts."""

    @abstractmethod
    def held_out_figure(self) -> float:
        """Return the network's current figure on held-out data, for the learning curve."""

    @property
    @abstractmethod
    def multiplications(self) -> float:
        """The approximate number of multiplications per step."""

    @property
    def losses(self) -> float:
        """The number of losses summed in an epoch; the curve has their mean."""
        return self.pair_count

    def quality(self, figure: float) -> float:
        """Return the quality for a held-out figure, at least 0; higher is better."""
        return figure

    @property
    def batches(self) -> int:
        """The number of batches per epoch."""
        return -(-self.pair_count // self.steps.batch)

    def train(
        self,
        epochs: int,
        *,
        looks: bool,
        report_progress: ReportProgress,
        save_checkpoint: Callable[[], None] | None = None,
    ) -> None:
        """Train until `epochs` are done; if it `looks`, the network is evaluated on held-out data after each.

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
        """Return the held-out figure; raises Diverged if it is not a number.

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
        """Make one gradient step on these pairs; return their loss before it."""
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
        """Return the loss of the whole batch from the result of `batch_loss` in this process: the same by
        default."""
        return loss

    def scaled(self, loss: torch.Tensor, batch: NDArray[np.intp]) -> torch.Tensor:
        """Return the loss that a step minimises: the sum by default."""
        return loss

    def state(self) -> tuple[NamedArrays, dict[str, Any]]:
        """Return everything that the next step depends on, and the results so far."""
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
        """Restore what `state` returned; raises KeyError if something is missing."""
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
        """Yield the remaining batches of this epoch."""
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
        """Return a context in which the network computes in bfloat16, if the device is made for it."""
        if self.device.type not in _IN_HALF:
            return nullcontext()
        half: AbstractContextManager[None] = torch.autocast(self.device.type, torch.bfloat16)
        return half

    def on_device(self, *arrays: NDArray[Any]) -> tuple[torch.Tensor, ...]:
        """Return the arrays as tensors on the network's device."""
        return tuple(torch.from_numpy(array).to(self.device) for array in arrays)


class _Gathered(torch.autograd.Function):
    """The rows of every process, shape (processes, ...), in each of them.

    All processes compute the same loss from the same rows. So the gradient of this process's rows is complete
    here, and is multiplied by the number of processes, since gradients of weights are averaged afterwards.
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
    """Return the rows of every process, of one shape, with their gradients; shape (processes, ...)."""
    gathered: torch.Tensor = _Gathered.apply(local_rows)
    return gathered


def fitting_threads(multiplications: float) -> AbstractContextManager[None]:
    """Return a context with one torch thread if a step has few `multiplications`; this is a setting of the
    whole process."""
    return _TORCH.held() if multiplications < _LITTLE else nullcontext()


def _one_torch_thread() -> Callable[[], None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    return lambda: torch.set_num_threads(before)


_TORCH = ThreadLimit(_one_torch_thread)


def network_weights(network: nn.Module) -> NamedArrays:
    """Return copies of the weights, by name."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()}


def load_weights(network: nn.Module, weights: Mapping[str, NDArray[Any]]) -> None:
    """Load weights into a network; raises KeyError if one is missing."""
    missing = network.state_dict().keys() - weights.keys()
    if missing:
        raise KeyError(min(missing))
    network.load_state_dict({name: torch.from_numpy(np.array(weight)) for name, weight in weights.items()})


def arrays_under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> NamedArrays:
    """Return the arrays whose names have this prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
