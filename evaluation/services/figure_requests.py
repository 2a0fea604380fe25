"""What requests for figures of a stored set share: of which images, and how intervals are drawn."""

from dataclasses import dataclass
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, OneOf
from evaluation.comparison.missing import REFUSE, Missing, missing_choices
from phrasebox.agreement.summary import Resampling

#: In the place of a split: all images.
EVERY_IMAGE = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureReport:
    """Figures, what they are of, and what is to be known about them."""

    report: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalRequest:
    """Figures with intervals."""

    resamples: Annotated[
        int, Field(ge=0, le=1_000_000), Help(_("Resamples"), _("For intervals; 0 for none"))
    ] = 1000
    level: Annotated[float, Field(gt=0, lt=1), Help(_("Level of the intervals"))] = 0.95
    seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed"), _("Of what is drawn"))] = 0

    @property
    def resampling(self) -> Resampling:
        """How intervals are drawn."""
        return Resampling(self.resamples, self.level, self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRequest(IntervalRequest):
    """Figures of some images, of those of a set where nothing is said of them. `images` names them as
    `subset_named` does, None for those of the set."""

    split: Annotated[
        str,
        Field(max_length=1000),
        Help(_("Split"), _("A split, a fold such as 1/5, run:NAME, or all; else the images of the set")),
    ] = ""
    fold_seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed of folds"))] = 0
    missing: Annotated[Missing, OneOf(missing_choices), Help(_("Images without output"))] = REFUSE
    store: Annotated[bool, Help(_("Store the figures"), _("They are shown with the set, and in reports"))] = (
        True
    )

    @property
    def images(self) -> str | None:
        """Which images figures are of."""
        return None if not self.split else "" if self.split == EVERY_IMAGE else self.split
