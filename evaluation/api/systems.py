"""Systems and feature sets by API: which there are, and training, ranking, adding and removing them."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from annotation import jobs
from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import Anywhere, On
from annotation.api.rest.fields import CallFields, NameField, PlainField, TextField, WholeField
from annotation.api.rest.operations import DELETE, GET, PATCH, POST, ApiCall, ApiRoute, Created, serves
from annotation.common.roles import RESEARCHER
from annotation.selectors.jobs import Job
from evaluation.api.given import ArchiveChange, ArchivedFilter, TrainedOnField, as_form
from evaluation.models import System
from evaluation.services.archiving import set_archived
from evaluation.services.common import ImportRefused, check_name
from evaluation.services.systems import registry
from evaluation.services.systems.upload import UPLOAD_FORMATS
from evaluation.services.systems.upload import upload_system as keep_system
from evaluation.web import offered
from evaluation.web.splits import NotOffered
from evaluation.web.systems.pages import SYSTEM, enqueue_decoding, enqueue_ranking
from evaluation.web.systems.training import training_arguments
from evaluation.web.uploads import UPLOAD_REFUSALS, upload_folder, uploaded_file
from models_core.systems.named_recipes import named_recipes
from models_core.systems.recipe import BadRecipe

_TAG = "systems"
RESEARCHES = Anywhere((RESEARCHER,), corpora=True)
_ON_SYSTEM = On(SYSTEM, (RESEARCHER,))
_ONE = "systems/<slug:name>"


class SystemShown(serializers.Serializer[Any]):
    """A system: what ranks, and where it comes from."""

    name = NameField()
    corpus = NameField()
    origin = serializers.CharField()
    recipe = serializers.CharField()
    digest = serializers.CharField()
    trained_on = serializers.CharField(help_text="As whoever added it declares.")
    created_at = serializers.DateTimeField()
    archived = serializers.BooleanField(help_text="Whether lists leave it out.")


class SystemDetailShown(SystemShown):
    """A system with all that it was made with, and its runs. `selection` is what is to be known of settings
    that it chose on held-out images, `remarks` of the numbers that it learned from."""

    seed = serializers.IntegerField(allow_null=True)
    settings = PlainField()
    versions = PlainField()
    selection = serializers.ListField(child=serializers.CharField())
    remarks = serializers.ListField(child=serializers.CharField())
    runs = serializers.ListField(child=serializers.CharField())


class RecipeShown(serializers.Serializer[Any]):
    """A recipe that has a name: by which a system can be trained."""

    name = serializers.CharField()
    method = serializers.CharField()
    paper = serializers.CharField()


class OfCorpus(CallFields):
    """Those of one corpus alone."""

    corpus = NameField(required=False)


class SystemFilter(OfCorpus, ArchivedFilter):
    """Which systems."""


class TrainingWanted(CallFields):
    """A system to be trained by a recipe: one of `GET recipes`, or the name of a file that an operator put
    into `sources/recipes`. Other files are names in `sources` too. `features`, `regions`, `words` and `text`
    (vectors of captions) are labels of feature sets. Either `train` and `held_out` splits, or a `fold` such
    as 1/5."""

    name = NameField()
    corpus = NameField()
    recipe = TextField()
    train = TextField(required=False)
    held_out = TextField(required=False)
    fold = TextField(required=False, max_length=40)
    seed = WholeField(required=False, max_value=10**9 - 1)
    background = serializers.ListField(child=TextField(), required=False, max_length=20)
    features = TextField(required=False)
    regions = TextField(required=False)
    words = TextField(required=False)
    text = TextField(required=False)
    layer = TextField(required=False)
    weak = TextField(required=False)


class RankingWanted(CallFields):
    """What is ranked: a split or a fold, all images without it; under which protocol, and what the runs
    are called. A system that compares regions with phrases needs `regions`, the label of a set of
    proposals."""

    split = TextField(required=False)
    regions = TextField(required=False)
    protocol = TextField(required=False, max_length=40)
    seed = WholeField(required=False, max_value=10**9 - 1)
    name = NameField(required=False)


class DecodingWanted(CallFields):
    """A layer to be written: its name, of a split or fold, and how much neighbouring words stay together
    (`beta`). `gold` is a layer that it is measured against."""

    layer = NameField()
    split = TextField(required=False)
    beta = serializers.FloatField(required=False, min_value=0, max_value=10**6)
    gold = NameField(required=False)


class SystemSent(CallFields):
    """A system made elsewhere, as files: embeddings of images and captions, or a matrix of scores."""

    name = NameField()
    corpus = NameField()
    format = serializers.ChoiceField(UPLOAD_FORMATS)
    products = serializers.BooleanField(
        required=False, help_text="Embeddings rank by inner products, not cosines."
    )
    trained_on = TrainedOnField()
    file = serializers.FileField(required=False)
    ids = serializers.FileField(required=False, help_text="Ids of the rows, beside the file.")
    captions = serializers.FileField(
        required=False, help_text="Embeddings of captions, in a file of their own."
    )


@serves(
    ApiRoute(
        route="systems",
        method=GET,
        path="systems",
        tag=_TAG,
        opens=RESEARCHES,
        asked=SystemFilter,
        answers=SystemShown,
        listed=True,
    )
)
def systems_list_call(call: ApiCall) -> CursorPage:
    """List systems, by name."""
    registry.register_unlisted_systems()
    found = offered.offered_systems(call.request).select_related("corpus")
    found = found.filter(archived_at__isnull=not call.asked.get("archived", False))
    if "corpus" in call.asked:
        found = found.filter(corpus__name=call.asked["corpus"])
    return call.rows.of_rows(found, "name", _system_plain)


@serves(
    ApiRoute(
        route="systems",
        method=POST,
        path="systems",
        tag=_TAG,
        opens=RESEARCHES,
        body=TrainingWanted,
        job=True,
        refuses=(NotOffered, ImportRefused, BadRecipe),
        example={
            "name": "first",
            "corpus": "harbour",
            "recipe": "NN5-F1",
            "train": "train",
            "held_out": "val",
        },
    )
)
def system_train_call(call: ApiCall) -> Job:
    """Train a system by a recipe, as a job."""
    given = as_form(call.data)
    corpus = offered.offered_corpus(call.request, call.data["corpus"])
    arguments = training_arguments(given)
    return jobs.enqueue(kind="train_system", arguments=arguments, corpus=corpus, actor=call.account)


@serves(
    ApiRoute(route="system", method=GET, path=_ONE, tag=_TAG, opens=_ON_SYSTEM, answers=SystemDetailShown)
)
def system_show_call(call: ApiCall, system: System) -> dict[str, Any]:
    """Show a system: what it was made with, and its runs."""
    return {
        **_system_plain(system),
        "seed": system.seed,
        "settings": system.settings,
        "versions": system.versions,
        "selection": system.settings.get("selection", []),
        "remarks": system.settings.get("remarks", []),
        "runs": list(system.runs.filter(published=True).order_by("name").values_list("name", flat=True)),
    }


@serves(
    ApiRoute(
        route="system",
        method=PATCH,
        path=_ONE,
        tag=_TAG,
        opens=_ON_SYSTEM,
        body=ArchiveChange,
        answers=SystemShown,
        example={"archived": True},
    )
)
def system_change_call(call: ApiCall, system: System) -> dict[str, Any]:
    """Archive a system, or bring it back: lists leave archived ones out, unless they are asked for."""
    set_archived(system, archived=call.data["archived"], actor=call.account)
    return _system_plain(system)


@serves(
    ApiRoute(route="system", method=DELETE, path=_ONE, tag=_TAG, opens=_ON_SYSTEM, refuses=(registry.InUse,))
)
def system_delete_call(call: ApiCall, system: System) -> None:
    """Remove a system; refused while it has runs."""
    registry.remove_system(name=system.name, actor=call.account)


@serves(
    ApiRoute(
        route="system_rank",
        method=POST,
        path=f"{_ONE}/rank",
        tag=_TAG,
        opens=_ON_SYSTEM,
        body=RankingWanted,
        job=True,
        refuses=(NotOffered,),
        example={"split": "test"},
    )
)
def system_rank_call(call: ApiCall, system: System) -> Job:
    """Have a system rank images and captions, as a job: a run in each direction."""
    return enqueue_ranking(call.request, system, as_form(call.data))


@serves(
    ApiRoute(
        route="system_segments",
        method=POST,
        path=f"{_ONE}/segments",
        tag=_TAG,
        opens=_ON_SYSTEM,
        body=DecodingWanted,
        job=True,
        refuses=(NotOffered,),
        example={"layer": "aligned", "split": "test"},
    )
)
def system_decode_call(call: ApiCall, system: System) -> Job:
    """Have an alignment say which words tell of which region, as a layer; as a job."""
    return enqueue_decoding(call.request, system, as_form(call.data))


@serves(
    ApiRoute(
        route="system_upload",
        method=POST,
        path="system-uploads",
        tag=_TAG,
        opens=RESEARCHES,
        body=SystemSent,
        uploads=("file", "ids", "captions"),
        own_transactions=True,
        makes=True,
        answers=SystemShown,
        refuses=UPLOAD_REFUSALS,
        example={"name": "sent", "corpus": "harbour", "format": "scores"},
    )
)
def system_upload_call(call: ApiCall) -> Created:
    """Add a system made elsewhere, from embeddings or scores in files."""
    check_name(call.data["name"], "system")
    offered.offered_corpus(call.request, call.data["corpus"])
    with upload_folder(call.request, commands="add_system") as folder:
        file = uploaded_file(call.request, folder / "file", "file", beside="ids")
        if file is None:
            raise NotOffered("no file was sent; send one as the field “file”")
        made = keep_system(
            name=call.data["name"],
            corpus=call.data["corpus"],
            path=file,
            format=call.data["format"],
            captions=uploaded_file(call.request, folder / "captions", "captions"),
            cosine=not call.data.get("products", False),
            declared=offered.declared_training(call.request, call.data.get("trained_on", "")),
            wanted=registry.RequestedBy(account=call.account.pk),
        )
    row = System.objects.select_related("corpus").get(name=made.system)
    return Created(_system_plain(row), reverse("v1_system", args=[row.name]))


@serves(
    ApiRoute(
        route="recipes",
        method=GET,
        path="recipes",
        tag=_TAG,
        opens=RESEARCHES,
        answers=RecipeShown,
        listed=True,
    )
)
def recipes_list_call(call: ApiCall) -> CursorPage:
    """List the recipes that have a name."""
    found = [
        {"name": recipe.name, "method": str(recipe.kind.title), "paper": recipe.kind.paper}
        for recipe in named_recipes().values()
    ]
    return call.rows.of_values(found, lambda one: str(one["name"]), dict)


def _system_plain(row: System) -> dict[str, Any]:
    return {
        "name": row.name,
        "corpus": row.corpus.name,
        "origin": row.origin,
        "recipe": row.recipe,
        "digest": row.digest,
        "trained_on": row.trained_on,
        "created_at": json_time(row.created_at),
        "archived": row.archived_at is not None,
    }
