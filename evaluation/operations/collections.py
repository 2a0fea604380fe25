"""Operations on parses of captions, and on weak collections with their features."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, FormPage, Has, Rest
from annotation.common.roles import RESEARCHER
from evaluation.operations import register
from evaluation.operations import set_texts as texts
from evaluation.services import collection_requests as requests
from evaluation.services import feature_requests

_OF_SERVER = Has((RESEARCHER,), server=True)

register(
    name="import_parses",
    title=_("Import parses"),
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=requests.import_requested_parses,
    before_job=requests.check_parses,
    as_job=True,
    rest=Rest("POST", "parses", "features", example={"corpus": "harbour", "file": "harbour.conllu"}),
    command=CommandLine(positional=("corpus", "file"), text=texts.parses_text),
    page=FormPage(started=_("Importing the parses.")),
)
register(
    name="list_weak_collections",
    title=_("List weak collections"),
    result=requests.CollectionSummary,
    permission=Has((RESEARCHER,), corpora=True),
    run=requests.list_collections,
    rest=Rest("GET", "weak-collections", "features", route="weak_collections"),
)
register(
    name="import_weak_collection",
    title=_("Import a weak collection"),
    permission=_OF_SERVER,
    run=requests.import_requested_collection,
    before_job=requests.check_new_collection,
    as_job=True,
    rest=Rest(
        "POST",
        "weak-collections",
        "features",
        route="weak_collections",
        example={"name": "weak", "file": "weak.csv"},
    ),
    command=CommandLine(positional=("name", "file"), text=texts.collection_text),
    page=FormPage(started=_("Importing the collection.")),
)
register(
    title=_("Import features of a weak collection"),
    permission=_OF_SERVER,
    run=feature_requests.import_collection_features,
    before_job=feature_requests.check_collection,
    as_job=True,
    rest=Rest(
        "POST",
        "weak-collections/<slug:collection>/features",
        "features",
        example={"name": "cnn", "file": "weak.npz"},
    ),
    command=None,
    page=FormPage(started=_("Importing the features.")),
)
register(
    name="remove_weak_collection",
    title=_("Remove a weak collection"),
    permission=_OF_SERVER,
    run=requests.remove_requested_collection,
    command=CommandLine(positional=("collection",)),
)
