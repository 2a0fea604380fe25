"""What systems learn words from, by API: parses, word vectors, ranked tags and weak collections.

Files of the server are called by the names that an operator gave them in `sources`.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.fields import CallFields, NameField, TextField, WholeField
from annotation.api.rest.operations import GET, POST, ApiCall, ApiRoute, serves
from annotation.selectors.jobs import Job
from evaluation.api.given import as_form
from evaluation.api.systems import RESEARCHES
from evaluation.services.common import ImportRefused
from evaluation.services.features.store import NUMBER_TYPES, feature_sets
from evaluation.services.weak.collections import WeakCollection, weak_collections
from evaluation.web.features.captions_data import (
    enqueue_parses,
    enqueue_word_vectors,
)
from evaluation.web.features.weak_collections import enqueue_collection, enqueue_collection_features
from evaluation.web.splits import NotOffered

_TAG = "features"
_REFUSED = (NotOffered, ImportRefused)


class ParsesWanted(CallFields):
    """Parses of a corpus's captions: a file in `sources/parses`. `replace` takes them in the place of those
    that there are."""

    corpus = NameField()
    file = TextField()
    replace = serializers.BooleanField(required=False)


class WordVectorsWanted(CallFields):
    """Word vectors to be learned from a corpus's captions, as a feature set of this name."""

    corpus = NameField()
    name = NameField()
    split = TextField(
        required=False,
        help_text="Whose captions are read: a split, a fold such as 1/5, run:NAME, or all. Without it the "
        "split train, or all captions of a corpus without splits.",
    )
    dimensions = WholeField(required=False)
    window = WholeField(required=False)
    negative = WholeField(required=False)
    epochs = WholeField(required=False)
    least = WholeField(required=False)
    seed = WholeField(required=False)


class CollectionShown(serializers.Serializer[Any]):
    """A weak collection: texts of images that nobody described for us, and the feature sets of these."""

    name = serializers.CharField()
    rows = serializers.IntegerField()
    kinds = serializers.ListField(child=serializers.CharField())
    digest = serializers.CharField()
    features = serializers.ListField(child=serializers.CharField())
    made_at = serializers.DateTimeField()


class CollectionWanted(CallFields):
    """A weak collection of this name: a file in `sources/collections`."""

    name = NameField()
    file = TextField()


class CollectionFeaturesWanted(CallFields):
    """A feature set of a collection's images: a file in `sources/features`."""

    name = NameField()
    file = TextField()
    dtype = serializers.ChoiceField(NUMBER_TYPES, required=False)


@serves(
    ApiRoute(
        route="parses",
        method=POST,
        path="parses",
        tag=_TAG,
        opens=RESEARCHES,
        body=ParsesWanted,
        job=True,
        refuses=_REFUSED,
        example={"corpus": "harbour", "file": "harbour.conllu"},
    )
)
def parses_import_call(call: ApiCall) -> Job:
    """Import the parses of a corpus's captions from a file of the server, as a job."""
    return enqueue_parses(call.request, as_form(call.data))


@serves(
    ApiRoute(
        route="word_vectors",
        method=POST,
        path="word-vectors",
        tag=_TAG,
        opens=RESEARCHES,
        body=WordVectorsWanted,
        job=True,
        refuses=_REFUSED,
        example={"corpus": "harbour", "name": "own-words", "dimensions": 100},
    )
)
def word_vectors_train_call(call: ApiCall) -> Job:
    """Learn word vectors from a corpus's captions, those of the split train unless told, as a job."""
    return enqueue_word_vectors(call.request, as_form(call.data))


@serves(
    ApiRoute(
        route="weak_collections",
        method=GET,
        path="weak-collections",
        tag=_TAG,
        opens=RESEARCHES,
        answers=CollectionShown,
        listed=True,
    )
)
def weak_collections_list_call(call: ApiCall) -> CursorPage:
    """List weak collections, by name."""
    return call.rows.of_values(weak_collections(), lambda one: one.name, _collection_plain)


@serves(
    ApiRoute(
        route="weak_collections",
        method=POST,
        path="weak-collections",
        tag=_TAG,
        opens=RESEARCHES,
        body=CollectionWanted,
        job=True,
        refuses=_REFUSED,
        example={"name": "weak", "file": "weak.csv"},
    )
)
def weak_collection_import_call(call: ApiCall) -> Job:
    """Import a weak collection from a file of the server, as a job. It takes a role for the whole server."""
    return enqueue_collection(call.request, as_form(call.data))


@serves(
    ApiRoute(
        route="collection_features",
        method=POST,
        path="weak-collections/<slug:collection>/features",
        tag=_TAG,
        opens=RESEARCHES,
        body=CollectionFeaturesWanted,
        job=True,
        refuses=_REFUSED,
        example={"name": "cnn", "file": "weak.npz"},
    )
)
def collection_features_import_call(call: ApiCall, collection: str) -> Job:
    """Import features of a collection's images, as a job. This takes a role for the whole server."""
    given = as_form({"dtype": NUMBER_TYPES[0], **call.data}, collection=collection)
    return enqueue_collection_features(call.request, given)


def _collection_plain(one: WeakCollection) -> dict[str, Any]:
    return {
        "name": one.name,
        "rows": one.rows,
        "kinds": list(one.kinds),
        "digest": one.digest,
        "features": [found.label for found in feature_sets(one.name)],
        "made_at": json_time(one.made_at),
    }
