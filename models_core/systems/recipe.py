"""What a system is made of: the text's kernel, the image's kernel, the method, and how it is selected.

Source: Hodosh et al. 2013, sections 3 and 4.1.3.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from models_core.checked_fields import BadField, check_fields, read_fields
from models_core.estimators.kcca.selection import KAPPAS, PICKS, SIZES
from models_core.features.text.idf import Weighting

MethodName = Literal["nearest-neighbour", "kcca"]
TextKernelName = Literal["f1", "bag-of-words", "tag-rank", "trigram"]
ImageKernelName = Literal["histogram", "pyramid", "linear"]
#: Lin's, distributional on the corpus ("ic") and on a background text ("background"), alignment.
Similarity = Literal["lin", "ic", "background", "alignment"]


class BadRecipe(ValueError):
    """A recipe that nothing can be made by, or that nobody knows; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class TextSettings:
    """The text's side: its kernel, and what the kernels of sections 3.4 and 3.5 take."""

    kernel: Annotated[TextKernelName, Field(description="What compares two sets of captions")] = "trigram"
    captions: Annotated[
        int, Field(ge=1, description="How many captions of each training image are learned from")
    ] = 5
    weighting: Annotated[Weighting, Field(description="What a word counts (section 3.4)")] = "none"
    similarities: Annotated[
        tuple[Similarity, ...],
        Field(strict=False, description="What makes two words alike (section 3.5); none: only the same word"),
    ] = ()
    diagonal: Annotated[
        float, Field(ge=1, description="What the training kernel's diagonal is multiplied by (section 4.1.3)")
    ] = 1.0

    @property
    def of_background(self) -> bool:
        """Whether it counts words of a background text."""
        return "background" in self.similarities


@dataclass(frozen=True, slots=True)
class PictureSettings:
    """The image's side; `linear` is the cosine of the vectors of a feature file, the others count words."""

    kernel: Annotated[ImageKernelName, Field(description="What compares two images")] = "pyramid"
    power: Annotated[int, Field(ge=1, description="p of eq. 6")] = 2

    @property
    def of_vectors(self) -> bool:
        """Whether it compares vectors of a feature file, not words of pictures."""
        return self.kernel == "linear"


@dataclass(frozen=True, slots=True)
class _Selection:
    """The grid of KCCA, and how many settings are picked of it."""

    kappas: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...],
        Field(strict=False, min_length=1, description="Regularisations that are tried"),
    ] = KAPPAS
    sizes: Annotated[int, Field(ge=1, description="How many numbers of dimensions are tried")] = SIZES
    most: Annotated[int, Field(ge=1, description="The largest number of dimensions")] = 6000
    picks: Annotated[
        int, Field(ge=1, description="How many settings are picked at each of R@1, R@5 and R@10")
    ] = PICKS
    center: Annotated[bool, Field(description="Whether kernels are centred")] = True


@dataclass(frozen=True, slots=True)
class Recipe:
    """A system. Raises BadRecipe."""

    name: Annotated[str, Field(description="What the system is called")]
    method: Annotated[MethodName, Field(description="How captions and images are compared")] = "kcca"
    text: TextSettings = field(default_factory=TextSettings)
    image: PictureSettings = field(default_factory=PictureSettings)
    selection: _Selection = field(default_factory=_Selection)
    printed: Annotated[str, Field(description="What Table 11 calls it; empty for one's own")] = ""

    def __post_init__(self) -> None:
        try:
            check_fields(self)
        except BadField as error:
            raise _refused(self.name, error, "") from None
        for side in _SIDES:
            try:
                check_fields(getattr(self, side))
            except BadField as error:
                raise _refused(self.name, error, f"{side}.") from None
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
        return _refused(self.name, BadField(place, value, expected), "")

    def as_dict(self) -> dict[str, Any]:
        """Plain data, which `of_dict` reads back."""
        return cast(dict[str, Any], json.loads(json.dumps(asdict(self))))

    @property
    def digest(self) -> str:
        """SHA-256 of all that the system depends on: its names do not count."""
        parts = {key: value for key, value in self.as_dict().items() if key not in ("name", "printed")}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


#: The tables of a recipe.
_SIDES = ("text", "image", "selection")


def of_dict(name: str, given: Mapping[str, Any], base: Recipe | None = None) -> Recipe:
    """The recipe `name` from plain data, over what `base` has. Raises BadRecipe, naming what is wrong."""
    start = base or Recipe(name)
    values: dict[str, Any] = {}
    for key, value in given.items():
        if key in _SIDES:
            values[key] = _side(name, key, value, getattr(start, key))
        elif key in ("method", "printed"):
            values[key] = value
        elif key != "name":
            raise BadRecipe(f"recipe {name!r} has {key!r}; known: extends, name, method, {', '.join(_SIDES)}")
    values.setdefault("printed", "")
    return dataclasses.replace(start, name=name, **values)


def _side(name: str, side: str, given: object, base: TextSettings | PictureSettings | _Selection) -> Any:
    held = {one.name: getattr(base, one.name) for one in dataclasses.fields(base)}
    if not isinstance(given, Mapping):
        raise BadRecipe(f"recipe {name!r}: {side} is {given!r}; expected a table of {', '.join(held)}")
    for key in given:
        if key not in held:
            raise BadRecipe(f"recipe {name!r} has {side}.{key}; known: {', '.join(held)}")
    try:
        return dataclasses.replace(base, **read_fields(type(base), {**held, **given}))
    except BadField as error:
        raise _refused(name, error, f"{side}.") from None


def _refused(name: str, error: BadField, where: str) -> BadRecipe:
    return BadRecipe(f"recipe {name!r}: {where}{error.name} is {error.value}; expected {error.expected}")
