"""Kinds of questions as the simulator has them: how long each takes, and what simulated workers answer.

A kind's folder under `annotation.task_types` has a `simulate.py` that registers a `SimulatedKind` here.
Code that drives the simulator loads them once, by
`annotation.task_types.discovery.load_kind_modules("simulate")`; pages never do.
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

#: What the API tells of a task, and how an image's name becomes its key -> the task's content.
Content = Callable[[Mapping[str, Any], Callable[[str], str]], dict[str, Any]]


def fields(*names: str) -> Content:
    """The content made of those of the fields `names` that the API tells."""

    def content(data: Mapping[str, Any], key_of: Callable[[str], str]) -> dict[str, Any]:
        return {name: data[name] for name in names if name in data}

    return content


def chain_content(data: Mapping[str, Any], key_of: Callable[[str], str]) -> dict[str, Any]:
    """What a question of the chain shows, as `protocol.contents` has it."""
    return {
        "mentions": [mention["id"] for mention in data["mentions"]],
        "boxes": data["boxes"],
        "pending": data["pending"],
    }


def _no_box(answer: str, truth: Truth, rng: SeededRng) -> Box | None:
    return None


@dataclass(frozen=True, kw_only=True)
class SimulatedKind:
    """One kind of question, as simulated workers answer it.

    - `key`: its name. `seconds`: what an answer takes on average, from which paid minutes are reckoned.
    - `content(data, key_of)`: what is shown, from what the API tells of a task.

    Of the chain, about whose images there is a `Truth`:

    - `yes`: the answer of those who always say yes.
    - `erring(question, truth, rng, error=, jitter=)`: the answer, with a box where it is "drawn", of those
      who mean well and err with the chance `error`; `jitter` as in `gold.erring`.
    - `blind(answer, truth, rng)`: the box that comes with an answer given without looking, if one does.

    Only counted:

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
    """The registry; an unknown name says what to load."""

    def get(self, key: str) -> SimulatedKind:
        """What the simulator knows of the kind `key`; raises UnknownName with the remedy."""
        try:
            return super().get(key)
        except UnknownName as error:
            raise UnknownName(
                f"{error}; the simulator's kinds are loaded by "
                "annotation.task_types.discovery.load_kind_modules('simulate'), from simulate.py in each "
                "kind's folder"
            ) from None


SIMULATED = SimulatedKinds("simulated kind of question")
