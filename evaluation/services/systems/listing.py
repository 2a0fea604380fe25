"""Systems for lists and their own pages, their learning curves, and the named recipes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import Listing, OperationContext, StoredThing
from annotation.common.roles import RESEARCHER
from evaluation.models import System
from evaluation.services.stored import set_archived
from evaluation.services.stored_kinds import ArchivableRequest
from evaluation.services.systems import registry
from evaluation.services.systems.folders import system_folder, training_folder
from models_core import storage
from models_core.checkpoints import CHECKPOINTS, Checkpoints
from models_core.systems.recipe import Recipe
from models_core.systems.recipe_files import named_recipes


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemsRequest(ArchivableRequest):
    """Systems, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSummary:
    """A system that ranks, and its origin. `trained_on` is what the account that added it declares;
    `archived`: lists omit it."""

    name: str
    corpus: str
    origin: str
    recipe: str
    digest: str
    trained_on: str
    created_at: datetime
    archived: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDetail(SystemSummary):
    """A system with everything it was made with, and its runs. `selection` describes settings that it chose
    on held-out images, `remarks` the numbers that it was trained on; `sources` are the digests of files and
    feature sets."""

    seed: int | None
    settings: dict[str, Any]
    sources: dict[str, Any]
    versions: dict[str, Any]
    selection: tuple[str, ...]
    remarks: tuple[str, ...]
    runs: tuple[str, ...]


def _summary_values(row: System) -> dict[str, Any]:
    names = ("name", "origin", "recipe", "digest", "trained_on", "created_at")
    values = {name: getattr(row, name) for name in names}
    return {**values, "corpus": row.corpus.name, "archived": row.archived_at is not None}


def system_summary(row: System) -> SystemSummary:
    """Return the summary of a system."""
    return SystemSummary(**_summary_values(row))


def system_detail(row: System) -> SystemDetail:
    """Return all that is stored of a system."""
    return SystemDetail(
        **_summary_values(row),
        **{name: getattr(row, name) for name in ("seed", "settings", "sources", "versions")},
        selection=tuple(row.settings.get("selection", ())),
        remarks=tuple(row.settings.get("remarks", ())),
        runs=tuple(row.runs.filter(published=True).order_by("name").values_list("name", flat=True)),
    )


STORED_SYSTEM = StoredThing(
    kind=registry.SYSTEMS,
    word="system",
    words="systems",
    titles=(
        _("List systems"),
        _("Show a system"),
        _("Archive a system, or bring it back"),
        _("Remove a system"),
    ),
    path="systems",
    roles=(RESEARCHER,),
    listing=SystemsRequest,
    results=(SystemSummary, SystemDetail),
    summary=system_summary,
    detail=system_detail,
    archive=set_archived,
    remove=lambda row, actor: registry.remove_system(name=row.name, actor=actor),
    removed=_("The system is removed."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipesRequest:
    """The recipes that have a name: systems are trained by them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeSummary:
    """The summary of a recipe: how texts and images are compared, the table in which it is `printed`, and the
    `source` of its method, from a `paper`."""

    name: str
    method: str
    text: str
    image: str
    source: str
    paper: str
    printed: str
    digest: str


def recipe_summary(recipe: Recipe) -> RecipeSummary:
    """Return the summary of a recipe."""
    return RecipeSummary(
        name=recipe.name,
        method=str(recipe.kind.title),
        text=recipe.text.kernel,
        image=recipe.image.kernel,
        source=recipe.kind.source,
        paper=recipe.kind.paper,
        printed=recipe.printed,
        digest=recipe.digest,
    )


def list_recipes(request: RecipesRequest, context: OperationContext) -> Listing:
    """Return the recipes that have a name."""
    return Listing(list(named_recipes().values()), lambda recipe: str(recipe.name), recipe_summary)


class LearnedEpoch(NamedTuple):
    """An epoch's number, its mean loss per pair or per word, and the held-out figure after it."""

    epoch: int
    loss: float
    figure: float


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """The epochs, and the kind of their figures: "recall", a share, or "perplexity"."""

    figure: str
    epochs: list[LearnedEpoch]


def learning_curve(name: str) -> LearningCurve:
    """Return the curve of the system `name`, or of its training so far; without epochs where there is
    none."""
    try:
        held = storage.read_manifest(system_folder(name))["settings"].get("model", {})
    except (storage.BadModel, OSError):
        checkpoint = Checkpoints.last_settings(training_folder(name) / CHECKPOINTS) or {}
        held = checkpoint.get("run") or {}
    epochs = [LearnedEpoch(int(epoch), loss, figure) for epoch, loss, figure in held.get("curve", [])]
    return LearningCurve(held.get("figure", "recall"), epochs)
