"""Feature sets by API: which there are, computing and importing them, and removing them."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.fields import CallFields, NameField, TextField, WholeField
from annotation.api.rest.operations import DELETE, GET, POST, ApiCall, ApiRoute, Created, serves
from annotation.selectors.jobs import Job
from evaluation.api.given import TrainedOnField, as_form
from evaluation.api.systems import RESEARCHES, OfCorpus
from evaluation.services.common import ImportRefused, check_name
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.features.store import (
    FEATURE_KINDS,
    NUMBER_TYPES,
    FeatureSet,
    feature_set,
    feature_sets,
)
from evaluation.services.systems.feature_use import remove_unused
from evaluation.services.systems.registry import InUse
from evaluation.web import offered
from evaluation.web.features.pages import METHODS_OFFERED, enqueue_extraction, enqueue_sent_extraction
from evaluation.web.splits import MOST_REGIONS, NotOffered
from evaluation.web.uploads import UPLOAD_REFUSALS, upload_folder, uploaded_file


class FeatureSetShown(serializers.Serializer[Any]):
    """A feature set: vectors of the images, captions, regions or words of a corpus."""

    label = serializers.CharField(help_text="Name and version, as trainings take it.")  # type: ignore[assignment]
    corpus = NameField()
    name = NameField()
    version = serializers.IntegerField()
    kind = serializers.ChoiceField(FEATURE_KINDS)
    rows = serializers.IntegerField()
    dimensions = serializers.IntegerField()
    dtype = serializers.CharField()
    digest = serializers.CharField()
    made_at = serializers.DateTimeField()


class ExtractionWanted(CallFields):
    """A feature set to be computed of pictures, or, with a `method`, of their regions: by a network that an
    operator put into `sources/networks`, called by the name of its file, or from colours, gradients and place
    (`layout`). `layer` is the one whose boxes method `gold` takes, `boxes` the file of `sources/boxes` whose
    boxes method `file` takes. With `no_whole` the whole picture is not the first of its regions. `settings`
    are KEY=VALUE, separated by spaces."""

    name = NameField()
    corpus = NameField()
    network = TextField()
    method = serializers.ChoiceField([one for one in METHODS_OFFERED if one], required=False)
    limit = WholeField(required=False, min_value=1, max_value=MOST_REGIONS)
    layer = TextField(required=False)
    split = TextField(required=False)
    boxes = TextField(required=False)
    no_whole = serializers.BooleanField(required=False)
    settings = TextField(required=False, max_length=1000)
    trained_on = TrainedOnField()


class RegionsSent(ExtractionWanted):
    """The same for regions, whose boxes are in a `file` that is sent: COCO results (.json), npz, or CSV."""

    method = serializers.ChoiceField(["file"])
    file = serializers.FileField(required=False)


class FeaturesSent(CallFields):
    """A feature set made elsewhere, as a file, with its ids beside it where the file has none."""

    name = NameField()
    corpus = NameField()
    kind = serializers.ChoiceField(FEATURE_KINDS)
    dtype = serializers.ChoiceField(NUMBER_TYPES, required=False)
    network = TextField(
        required=False, max_length=100, help_text="What computed them; sets of one network have the same."
    )
    trained_on = TrainedOnField()
    file = serializers.FileField(required=False)
    ids = serializers.FileField(required=False)


class SetNamed(CallFields):
    """A feature set: its corpus, and its name, the newest version of it or NAME:VERSION."""

    corpus = NameField()
    set = TextField()


@serves(
    ApiRoute(
        route="features",
        method=GET,
        path="features",
        tag="features",
        opens=RESEARCHES,
        asked=OfCorpus,
        answers=FeatureSetShown,
        listed=True,
    )
)
def feature_sets_list_call(call: ApiCall) -> CursorPage:
    """List feature sets, by corpus, name and version."""
    known = [corpus.name for corpus in offered.offered_corpora(call.request)]
    wanted = [name for name in known if call.asked.get("corpus", name) == name]
    found = [one for name in wanted for one in feature_sets(name)]
    return call.rows.of_values(found, _place_of_set, _set_plain)


def _place_of_set(one: FeatureSet) -> str:
    return f"{one.corpus} {one.name} {one.version:09d}"


def _set_plain(one: FeatureSet) -> dict[str, Any]:
    return {
        "label": one.label,
        "corpus": one.corpus,
        "name": one.name,
        "version": one.version,
        "kind": one.kind,
        "rows": one.rows,
        "dimensions": one.dimensions,
        "dtype": one.dtype,
        "digest": one.digest,
        "made_at": json_time(one.made_at),
    }


@serves(
    ApiRoute(
        route="features",
        method=POST,
        path="features",
        tag="features",
        opens=RESEARCHES,
        body=ExtractionWanted,
        job=True,
        refuses=(NotOffered, ImportRefused),
        example={"name": "net", "corpus": "harbour", "network": "colours.onnx"},
    )
)
def features_extract_call(call: ApiCall) -> Job:
    """Compute a feature set by a network, as a job."""
    return enqueue_extraction(call.request, as_form(call.data))


@serves(
    ApiRoute(
        route="region_upload",
        method=POST,
        path="region-uploads",
        tag="features",
        opens=RESEARCHES,
        body=RegionsSent,
        example={"name": "theirs", "corpus": "harbour", "network": "colours.onnx", "method": "file"},
        uploads=("file",),
        job=True,
        refuses=UPLOAD_REFUSALS,
    )
)
def regions_upload_call(call: ApiCall) -> Job:
    """Compute a feature set of the regions of a file, as a job."""
    given = {name: value for name, value in call.data.items() if name != "file"}
    return enqueue_sent_extraction(call.request, as_form(given))


@serves(
    ApiRoute(
        route="features",
        method=DELETE,
        path="features",
        tag="features",
        opens=RESEARCHES,
        asked=SetNamed,
        refuses=(InUse,),
    )
)
def features_remove_call(call: ApiCall) -> None:
    """Remove a feature set; refused while a system needs it."""
    corpus = offered.offered_corpus(call.request, call.asked["corpus"])
    remove_unused(feature_set(corpus.name, call.asked["set"]), actor=call.account)


@serves(
    ApiRoute(
        route="feature_upload",
        method=POST,
        path="feature-uploads",
        tag="features",
        opens=RESEARCHES,
        body=FeaturesSent,
        uploads=("file", "ids"),
        own_transactions=True,
        makes=True,
        answers=FeatureSetShown,
        refuses=UPLOAD_REFUSALS,
        example={"name": "net", "corpus": "harbour", "kind": "image"},
    )
)
def features_upload_call(call: ApiCall) -> Created:
    """Import a feature set from a file: all of it, or nothing."""
    given = call.data
    check_name(given["name"], "feature set")
    corpus = offered.offered_corpus(call.request, given["corpus"])
    with upload_folder(call.request, commands="import_features") as folder:
        file = uploaded_file(call.request, folder, "file", beside="ids")
        if file is None:
            raise NotOffered("no file was sent; send one as the field “file”")
        made = import_features(
            FeatureImport(
                corpus=corpus.name,
                name=given["name"],
                path=file,
                kind=given["kind"],
                dtype=given.get("dtype", NUMBER_TYPES[0]),
                source=file.name,
                network=given.get("network", ""),
                declared=offered.declared_training(call.request, given.get("trained_on", "")),
            )
        )
    return Created(_set_plain(made.set), reverse("v1_features"))
