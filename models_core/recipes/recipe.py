"""What a system is made of: the text's kernel, the image's kernel, the method, and how it is selected.

Source: Hodosh et al. 2013, sections 3 and 4.1.3.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast, get_args

from models_core.retrieval.selection import KAPPAS, PICKS, SIZES
from models_core.text.idf import WEIGHTINGS, Weighting

Method = Literal["nearest-neighbour", "kcca"]
TextKernelName = Literal["f1", "bag-of-words", "tag-rank", "trigram"]
ImageKernelName = Literal["histogram", "pyramid", "linear"]
#: Lin's, distributional on the corpus ("ic") and on a background text ("background"), alignment.
Similarity = Literal["lin", "ic", "background", "alignment"]


class BadRecipe(ValueError):
    """A recipe that nothing can be made by, or that nobody knows; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class Text:
    """The text's side. `captions` is how many of each training image's captions are learned from.

    `weighting` and `similarities` are what the kernels of section 3.4 and 3.5 take; `diagonal` multiplies
    the diagonal of the training kernel (section 4.1.3).
    """

    kernel: TextKernelName = "trigram"
    captions: int = 5
    weighting: Weighting = "none"
    similarities: tuple[Similarity, ...] = ()
    diagonal: float = 1.0

    @property
    def of_background(self) -> bool:
        """Whether it counts words of a background text."""
        return "background" in self.similarities


@dataclass(frozen=True, slots=True)
class Image:
    """The image's side; `linear` is the cosine of the vectors of a feature file, the others count words.

    `power` is p of eq. 6.
    """

    kernel: ImageKernelName = "pyramid"
    power: int = 2

    @property
    def of_vectors(self) -> bool:
        """Whether it compares vectors of a feature file, not words of pictures."""
        return self.kernel == "linear"


@dataclass(frozen=True, slots=True)
class Selection:
    """The grid of KCCA, and how many settings are picked at each of R@1, R@5 and R@10."""

    kappas: tuple[float, ...] = KAPPAS
    sizes: int = SIZES
    most: int = 6000
    picks: int = PICKS
    center: bool = True


@dataclass(frozen=True, slots=True)
class Recipe:
    """A system. `printed` is what Table 11 calls it, empty for one's own. Raises BadRecipe."""

    name: str
    method: Method = "kcca"
    text: Text = field(default_factory=Text)
    image: Image = field(default_factory=Image)
    selection: Selection = field(default_factory=Selection)
    printed: str = ""

    def __post_init__(self) -> None:
        for place, value, known in (
            ("method", self.method, get_args(Method)),
            ("text.kernel", self.text.kernel, get_args(TextKernelName)),
            ("text.weighting", self.text.weighting, WEIGHTINGS),
            ("image.kernel", self.image.kernel, get_args(ImageKernelName)),
            *(("text.similarities", one, get_args(Similarity)) for one in self.text.similarities),
        ):
            if value not in known:
                raise self._bad(place, value, f"one of {', '.join(known)}")
        for place, number, least in (
            ("text.captions", self.text.captions, 1),
            ("text.diagonal", self.text.diagonal, 1),
            ("image.power", self.image.power, 1),
            ("selection.sizes", self.selection.sizes, 1),
            ("selection.most", self.selection.most, 1),
            ("selection.picks", self.selection.picks, 1),
        ):
            if not (math.isfinite(number) and number >= least):
                raise self._bad(place, number, f"{least} or more")
        if not self.selection.kappas or not all(math.isfinite(k) and k > 0 for k in self.selection.kappas):
            raise self._bad("selection.kappas", list(self.selection.kappas), "numbers above 0")
        if len(set(self.text.similarities)) != len(self.text.similarities):
            raise self._bad("text.similarities", list(self.text.similarities), "each once")
        self._check_sides()

    def _check_sides(self) -> None:
        text = self.text
        if text.similarities and text.kernel != "trigram":
            raise self._bad("text.kernel", text.kernel, "trigram where there are similarities")
        if "lin" in text.similarities and len(text.similarities) > 1:
            raise self._bad(
                "text.similarities", list(text.similarities), "lin without other similarities (section 3.5.6)"
            )
        if text.kernel == "tag-rank" and text.weighting != "none":
            raise self._bad("text.weighting", text.weighting, "none for tag-rank, which weights by position")
        if text.kernel == "f1" and (self.method == "kcca" or text.weighting == "sqrt-idf"):
            raise self._bad("text.kernel", "f1", "nearest-neighbour with weighting none or idf")

    def _bad(self, place: str, value: object, expected: str) -> BadRecipe:
        return BadRecipe(f"recipe {self.name!r}: {place} is {value!r}; expected {expected}")

    def as_dict(self) -> dict[str, Any]:
        """Plain data, which `of_dict` reads back."""
        return cast(dict[str, Any], json.loads(json.dumps(asdict(self))))

    @property
    def digest(self) -> str:
        """SHA-256 of all that the system depends on: its names do not count."""
        parts = {key: value for key, value in self.as_dict().items() if key not in ("name", "printed")}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


_SIDES: dict[str, type[Text] | type[Image] | type[Selection]] = {
    "text": Text,
    "image": Image,
    "selection": Selection,
}


def of_dict(name: str, given: Mapping[str, Any], base: Recipe | None = None) -> Recipe:
    """The recipe `name` from plain data, over what `base` has. Raises BadRecipe, naming what is wrong."""
    start = base or Recipe(name)
    values: dict[str, Any] = {}
    for key, value in given.items():
        if key in _SIDES:
            values[key] = _side(name, key, value, getattr(start, key))
        elif key in ("method", "printed"):
            values[key] = _typed(name, key, value, "")
        elif key != "name":
            raise BadRecipe(f"recipe {name!r} has {key!r}; known: extends, name, method, {', '.join(_SIDES)}")
    values.setdefault("printed", "")
    return dataclasses.replace(start, name=name, **values)


def _side(name: str, side: str, given: object, base: Text | Image | Selection) -> Any:
    known = [one.name for one in dataclasses.fields(_SIDES[side])]
    if not isinstance(given, Mapping):
        raise BadRecipe(f"recipe {name!r}: {side} is {given!r}; expected a table of {', '.join(known)}")
    values = {}
    for key, value in given.items():
        if key not in known:
            raise BadRecipe(f"recipe {name!r} has {side}.{key}; known: {', '.join(known)}")
        values[key] = _typed(name, f"{side}.{key}", value, getattr(base, key))
    return dataclasses.replace(base, **values)


def _typed(name: str, place: str, value: object, like: object) -> Any:
    """`value`, of the type that `like` has; numbers for numbers, but no truth values."""
    if isinstance(like, tuple) and isinstance(value, list | tuple):
        number = bool(like) and isinstance(like[0], float)
        return tuple(_typed(name, place, one, 0.0 if number else "") for one in value)
    if isinstance(like, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is type(like):
        return value
    expected = {
        tuple: "a list",
        str: "a text",
        int: "a whole number",
        float: "a number",
        bool: "true or false",
    }
    raise BadRecipe(f"recipe {name!r}: {place} is {value!r}; expected {expected[type(like)]}")
