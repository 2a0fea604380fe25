"""Settings of a recipe's two sides: how captions and images are described.

A method takes each side as a kernel with the training items or as vectors (`Method.takes`), which determines
the settings in the table `text` or `image` of its recipes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from models_core.checked_fields import BadField, CheckedRecord, check_fields
from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW, Form
from models_core.features.text.mixture_steps import Family
from models_core.features.text.tags import DEFAULT_ALPHA, TagUnit
from phrasebox.kernels.idf import Weighting

TextKernelName = Literal["f1", "bag-of-words", "tag-rank", "trigram"]
ImageKernelName = Literal["histogram", "pyramid", "linear"]
#: How captions are read: as lemmas of content words, all words as written, dependency edges, tags, or names
#: alone.
CaptionForm = Literal["lemmas", "words", "edges", "tags", "names"]
#: How a phrase's vector is computed from its words' vectors.
PhraseVectors = Literal["mean", "fisher"]
#: Word similarities: Lin's, distributional on the corpus ("ic") and on a background text ("background"),
#: alignment.
Similarity = Literal["lin", "ic", "background", "alignment"]


@dataclass(frozen=True, slots=True)
class TextSettings:
    """The text's side: its kernel, and what the kernels of sections 3.4 and 3.5 take. Raises BadField."""

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

    def __post_init__(self) -> None:
        check_fields(self)
        alike = list(self.similarities)
        if len(set(alike)) != len(alike):
            raise BadField("similarities", alike, "each once")
        if alike and self.kernel != "trigram":
            raise BadField("kernel", self.kernel, "trigram where there are similarities")
        if "lin" in alike and len(alike) > 1:
            raise BadField("similarities", alike, "lin without other similarities (section 3.5.6)")
        if self.kernel == "tag-rank" and self.weighting != "none":
            raise BadField("weighting", self.weighting, "none for tag-rank, which weights by position")

    @property
    def of_background(self) -> bool:
        """Whether it counts words of a background text."""
        return "background" in self.similarities

    @property
    def parts(self) -> tuple[str, ...]:
        """Its settings besides the kernel, in the words of recipes."""
        return (self.weighting,) if self.weighting != "none" else ()


class NoTextKernel:
    """Text settings without a kernel: only the captions are used, and only identical words match."""

    __slots__ = ()

    @property
    def of_background(self) -> bool:
        """Whether it counts words of a background text: no."""
        return False

    @property
    def similarities(self) -> tuple[Similarity, ...]:
        """The similarities of words: none."""
        return ()


@dataclass(frozen=True, slots=True)
class BagSettings(NoTextKernel, CheckedRecord):
    """Captions as bags of words weighted by tf-idf. Source: Gong et al. 2014, section 5. Raises BadField."""

    words: Annotated[int, Field(ge=1, description="How many words the bags have, the most frequent ones")] = (
        3000
    )
    captions: Annotated[
        int, Field(ge=1, description="How many captions of each training image are learned from")
    ] = 5
    together: Annotated[
        bool, Field(description="Whether an image's training captions are one text; else each is a pair")
    ] = False
    normalised: Annotated[bool, Field(description="Whether each bag has length 1")] = True

    @property
    def kernel(self) -> str:
        """What it is called beside the kernels."""
        return "tf-idf"

    @property
    def parts(self) -> tuple[str, ...]:
        """What it is made of besides its kernel, in the words of recipes."""
        return (f"{self.words} words",)


@dataclass(frozen=True, slots=True)
class WordSettings(NoTextKernel, CheckedRecord):
    """Captions as sequences of words in lower case, without punctuation. Source: Karpathy and Fei-Fei 2015,
    section 4. Raises BadField."""

    least_count: Annotated[
        int,
        Field(ge=1, description="How often the training captions have a word, at least, for it to be known"),
    ] = 5
    captions: Annotated[
        int, Field(ge=1, description="How many captions of each training image are learned from")
    ] = 5

    @property
    def kernel(self) -> str:
        """What it is called beside the kernels."""
        return "words in order"

    @property
    def parts(self) -> tuple[str, ...]:
        """What it is made of besides its kernel, in the words of recipes."""
        return ()


@dataclass(frozen=True, slots=True)
class EdgeSettings(WordSettings):
    """Captions as their dependency edges, of parses that the corpus has. Edges of unknown words, and of
    relations that are as rare, are left out. Source: Karpathy and Fei-Fei 2015, section 4.1. Raises
    BadField."""

    @property
    def kernel(self) -> str:
        """What it is called beside the kernels."""
        return "dependency edges"


@dataclass(frozen=True, slots=True)
class TagSettings(NoTextKernel, CheckedRecord):
    """Captions as the ranked tags of their image: its nouns, by place and frequency. Source: structured
    listwise tagging, section 3.2. Raises BadField."""

    unit: Annotated[TagUnit, Field(description="What becomes a tag: nouns, or nouns that stand together")] = (
        "nouns"
    )
    alpha: Annotated[
        float | None,
        Field(ge=0, le=1, description="Weight of frequency; by default 0.75 for nouns, 0 for compounds"),
    ] = None
    least_count: Annotated[
        int, Field(ge=1, description="How many training images have a tag, at least, for it to be known")
    ] = 1
    normalised: Annotated[bool, Field(description="Whether each tag's vector has length 1")] = True

    @property
    def weight(self) -> float:
        """The alpha that is taken."""
        return DEFAULT_ALPHA[self.unit] if self.alpha is None else self.alpha

    @property
    def kernel(self) -> str:
        """What it is called beside the kernels."""
        return "ranked tags"

    @property
    def captions(self) -> int:
        """How many captions of an image are read: 0, which is all of them."""
        return 0

    @property
    def parts(self) -> tuple[str, ...]:
        """What it is made of besides its kernel, in the words of recipes."""
        return (f"{self.unit}, alpha {self.weight:g}",)


@dataclass(frozen=True, slots=True)
class VectorTextSettings(NoTextKernel, CheckedRecord):
    """Captions as vectors that somebody gives, of a feature set. Raises BadField."""

    captions: Annotated[
        int, Field(ge=1, description="How many captions of each training image are looked at")
    ] = 5

    @property
    def kernel(self) -> str:
        """What it is called beside the kernels."""
        return "given vectors"

    @property
    def parts(self) -> tuple[str, ...]:
        """What it is made of besides its kernel, in the words of recipes."""
        return ()


@dataclass(frozen=True, slots=True)
class PhraseSettings(NoTextKernel):
    """Phrases as vectors made of given word vectors; phrases are in lower case, without articles.

    Source: Plummer et al. 2015, section 3.1 (HGLMM Fisher vectors of 30 components). Raises BadField.
    """

    vectors: Annotated[
        PhraseVectors,
        Field(description="Mean of the words' vectors, or Fisher vector under a mixture of them"),
    ] = "mean"
    family: Annotated[
        Family, Field(description="Components: Gaussians, Laplacians, or in each dimension what fits better")
    ] = "hybrid"
    mixture: Annotated[int, Field(ge=1, le=10_000, description="Components of the mixture")] = 30
    axes: Annotated[
        int, Field(ge=0, description="Principal axes that Fisher vectors are reduced to; 0: not reduced")
    ] = 0
    vocabulary: Annotated[
        int,
        Field(
            ge=0, description="Words kept beside those of training: so many, the first of the word vectors"
        ),
    ] = 50_000
    captions: Annotated[
        int, Field(ge=1, description="How many captions, or phrases, of each training item are learned from")
    ] = 1000

    def __post_init__(self) -> None:
        check_fields(self)
        if self.axes and self.vectors != "fisher":
            raise BadField("axes", self.axes, "0 where phrases are no Fisher vectors")

    @property
    def kernel(self) -> str:
        """What it is called beside the kernels."""
        return "phrases"

    @property
    def parts(self) -> tuple[str, ...]:
        """What it is made of besides its kernel, in the words of recipes."""
        if self.vectors == "mean":
            return ("mean",)
        return (f"{self.family} {self.mixture}", *((f"{self.axes} axes",) if self.axes else ()))


@dataclass(frozen=True, slots=True)
class PictureSettings(CheckedRecord):
    """The image's side; `linear` is the cosine of the vectors of a feature file, the others count words.

    Raises BadField.
    """

    kernel: Annotated[ImageKernelName, Field(description="What compares two images")] = "pyramid"
    power: Annotated[int, Field(ge=1, description="p of eq. 6")] = 2

    @property
    def of_vectors(self) -> bool:
        """Whether it compares vectors of a feature file, not words of pictures."""
        return self.kernel == "linear"


@dataclass(frozen=True, slots=True)
class VectorSettings(CheckedRecord):
    """Images as the vectors of a feature file. Raises BadField."""

    normalised: Annotated[bool, Field(description="Whether each vector has length 1")] = False

    @property
    def kernel(self) -> str:
        """What it is called beside the kernels."""
        return "vectors"

    @property
    def of_vectors(self) -> bool:
        """Yes."""
        return True


@dataclass(frozen=True, slots=True)
class RegionSettings(CheckedRecord):
    """Images as the vectors of their regions. Raises BadField."""

    normalised: Annotated[bool, Field(description="Whether each region's vector has length 1")] = True

    @property
    def kernel(self) -> str:
        """What it is called beside the kernels."""
        return "regions"

    @property
    def of_vectors(self) -> bool:
        """Yes."""
        return True


#: Kind of item -> the form that a method takes it in -> what the recipe's table holds.
SIDE_SETTINGS: Mapping[str, Mapping[Form, type]] = {
    CAPTION_VIEW: {
        "kernel": TextSettings,
        "vectors": BagSettings,
        "words": WordSettings,
        "edges": EdgeSettings,
        "tags": TagSettings,
        "given": VectorTextSettings,
        "phrases": PhraseSettings,
    },
    IMAGE_VIEW: {"kernel": PictureSettings, "vectors": VectorSettings, "regions": RegionSettings},
}
