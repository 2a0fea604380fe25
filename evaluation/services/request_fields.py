"""Fields that several requests share: the images of a corpus (a split, a fold, or a run's images; on the
server also a file of names), the layer, and how figures and their intervals are computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, OneOf, OperationContext, invalid
from annotation.selectors.corpora import split_names
from evaluation.comparison.missing import REFUSE, Missing, missing_choices
from evaluation.comparison.subsets import FOLD, OF_RUN
from evaluation.models import Run
from phrasebox.agreement.summary import Resampling
from phrasebox.names import ANY, FILE, KEY, SOURCE, STEM
from phrasebox.significance.randomisation import MOST_ROUNDS

#: The name of a layer, or "".
LayerField = Annotated[str, Field(pattern=r"^[-a-zA-Z0-9_]*$", max_length=100)]


def check_images(
    field: str, text: str, corpus: Any, context: OperationContext, *, runs: bool = False, also: str = ""
) -> None:
    """Raise Invalid if the text of a field names no images of a corpus: a split, a fold such as 1/5, with
    `runs` run:NAME, or the word `also`; "" is always valid. With `context.by_path` any other text may be the
    name of a file."""
    splits = [split for split in split_names(corpus) if split]
    if context.by_path or text in ("", also, *splits) or FOLD.fullmatch(text):
        return
    if runs and text.startswith(OF_RUN):
        rows = Run.objects.filter(name=text.removeprefix(OF_RUN), corpus=corpus, published=True)
        if rows.exists():
            return
    known = ", ".join(splits)
    raise invalid(field, "unknown_of" if known else "unknown", kind=_("split"), value=text[:100], known=known)


def check_layer(field: str, name: str, corpus: Any) -> None:
    """Raise Invalid if a field names no layer of a corpus; "" is always valid."""
    known = ", ".join(layer_names(corpus))
    if name and name not in layer_names(corpus):
        raise invalid(field, "unknown_of" if known else "unknown", kind=_("layer"), value=name, known=known)


def layer_names(corpus: Any) -> list[str]:
    """Return the names of the layers of a corpus."""
    names = corpus.layers.filter(published=True).order_by("name").values_list("name", flat=True)
    return list(names)


#: The largest number of sets that are compared with one another.
MOST_COMPARED = 20
#: Requests all images, in the place of a split.
EVERY_IMAGE = "all"


def _name_choices() -> Mapping[str, Any]:
    titles = (_("keys"), _("file names"), _("file names without extension"), _("ids in the source"))
    return dict(zip((KEY, FILE, STEM, SOURCE), titles, strict=True))


#: The kind of image names in a file, for formats that do not determine it.
NamedBy = Annotated[
    Annotated[str, OneOf(_name_choices, none=_("any names"))] | None,
    Help(_("Images are named by"), _("Without a choice, a name that means two images is refused")),
]


def name_spaces(named_by: str | None) -> tuple[str, ...]:
    """Return the name spaces of a choice."""
    return ANY if named_by is None else (named_by,)


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureReport:
    """Figures, what they are based on, and remarks on them."""

    report: dict[str, Any]


def baseline_first(sets: Sequence[str], baseline: str | None) -> list[str]:
    """Return the names of the sets to compare: the baseline, if there is one, then the others."""
    return list(sets) if baseline is None else [baseline, *(name for name in sets if name != baseline)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetComparison(FigureReport):
    """Sets compared with the first: the figures of each with their intervals, and the differences with their
    intervals and tests."""


# Without slots: a request inherits the fields about what it scores from another base, whose fields come first
# in forms.
@dataclass(frozen=True, kw_only=True)
class IntervalRequest:
    """Figures with intervals."""

    resamples: Annotated[
        int, Field(ge=0, le=1_000_000), Help(_("Resamples"), _("For intervals; 0 for none"))
    ] = 1000
    level: Annotated[float, Field(gt=0, lt=1), Help(_("Level of the intervals"))] = 0.95
    seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed"), _("Of what is drawn"))] = 0

    @property
    def resampling(self) -> Resampling:
        """How intervals are computed."""
        return Resampling(self.resamples, self.level, self.seed)


#: Rounds of the test of differences.
Rounds = Annotated[
    int, Field(ge=0, le=MOST_ROUNDS), Help(_("Permutations of the randomisation test"), _("0 for none"))
]
#: As many as somebody waits for.
USUAL_ROUNDS = 10_000


@dataclass(frozen=True, kw_only=True)
class SetImagesRequest(IntervalRequest):
    """Figures of a part of the images, by default of those of a set. `images` names them as in
    `subset_named`; None: those of the set."""

    split: Annotated[
        str,
        Field(max_length=1000),
        Help(_("Split"), _("A split, a fold such as 1/5, run:NAME, or all; else the images of the set")),
    ] = ""
    fold_seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed of folds"))] = 0
    missing: Annotated[Missing, OneOf(missing_choices), Help(_("Images without output"))] = REFUSE

    @property
    def images(self) -> str | None:
        """The images that figures are computed on."""
        return None if not self.split else "" if self.split == EVERY_IMAGE else self.split


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRequest(SetImagesRequest):
    """Figures of a set, which may be stored with it."""

    store: Annotated[bool, Help(_("Store the figures"), _("They are shown with the set, and in reports"))] = (
        True
    )
