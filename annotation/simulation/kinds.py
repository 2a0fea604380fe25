"""Simulated kinds of questions: how long each takes, and what simulated workers answer.

A kind's folder under `annotation.task_types` has a `simulate.py` that registers a `SimulatedKind` here. Code
that runs the simulator loads them once, by `annotation.task_types.discovery.load_kind_modules("simulate")`;
pages never do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.protocol.gold import Truth, erring
from annotation.protocol.questions import Answer
from annotation.protocol.rng import SeededRng
from annotation.protocol.terms import Box
from annotation.simulation.judging import CrowdKnowledge, SimulatedJudge
from phrasebox.registry import Registry, UnknownName

#: Takes a task's data from the API and a function from an image's name to its key; returns the task's
#: content.
Content = Callable[[Mapping[str, Any], Callable[[str], str]], dict[str, Any]]


def fields(*names: str) -> Content:
    """Return a function that copies those of the fields `names` that are in the API's data."""

    def content(data: Mapping[str, Any], key_of: Callable[[str], str]) -> dict[str, Any]:
        return {name: data[name] for name in names if name in data}

    return content


def chain_content(data: Mapping[str, Any], key_of: Callable[[str], str]) -> dict[str, Any]:
    """Return the content of a question of the chain, as in `protocol.contents`."""
    return {
        "mentions": [mention["id"] for mention in data["mentions"]],
        "boxes": data["boxes"],
        "pending": data["pending"],
    }


def _no_box(answer: str, truth: Truth, rng: SeededRng) -> Box | None:
    return None


@dataclass(frozen=True, kw_only=True)
class SimulatedKind:
    """A kind of question for simulated workers.

    - `key`: its name. `seconds`: mean time of an answer, from which paid minutes are computed.
    - `content(data, key_of)`: what is shown, from the API's data of a task.

    For the chain, whose images have a `Truth`:

    - `yes`: the answer of workers who always say yes.
    - `erring(question, truth, rng, error=, jitter=)`: the answer, with a box where it is "drawn", of those
      who are honest and err at the rate `error`; `jitter` as in `gold.erring`.
    - `blind(answer, truth, rng)`: the box that comes with an answer given without looking, if one does.

    For counted kinds:

    - `judge(worker, image, content, known)`: the answer to a question about the image with this key.
    """

    key: str
    seconds: float
    content: Content = chain_content
    yes: str = ""
    erring: Callable[..., tuple[str, Box | None]] = erring
    blind: Callable[[str, Truth, SeededRng], Box | None] = _no_box
    judge: Callable[[SimulatedJudge, str, Mapping[str, Any], CrowdKnowledge], Answer] | None = None


class SimulatedKinds(Registry[SimulatedKind]):
    """The registry; the error for an unknown name contains the remedy."""

    def get(self, key: str) -> SimulatedKind:
        """Return the simulated kind `key`. Raises UnknownName with the remedy."""
        try:
            return super().get(key)
        except UnknownName as error:
            raise UnknownName(
                f"{error}; the simulator's kinds are loaded by "
                "annotation.task_types.discovery.load_kind_modules('simulate'), from simulate.py in each "
                "kind's folder"
            ) from None


SIMULATED = SimulatedKinds("simulated kind of question")
