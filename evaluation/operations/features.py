"""Operations on feature sets: list, remove, import, compute, train on captions."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, File, FormPage, Has, Rest
from annotation.common.roles import RESEARCHER
from evaluation.operations import register
from evaluation.operations import set_texts as texts
from evaluation.services import extraction_requests as extracting
from evaluation.services import feature_requests as requests

_ON_CORPUS = Has((RESEARCHER,), on="corpus", corpora=True)

register(
    title=_("List feature sets"),
    result=requests.FeatureSetSummary,
    permission=Has((RESEARCHER,), corpora=True),
    run=requests.list_features,
    rest=Rest("GET", "features", "features", route="features"),
)
register(
    title=_("Remove a feature set"),
    permission=_ON_CORPUS,
    run=requests.remove_features,
    rest=Rest("DELETE", "features/<slug:corpus>/<str:set>", "features"),
    page=FormPage(done=_("The feature set is removed.")),
)
register(
    name="import_features",
    title=_("Import features"),
    permission=_ON_CORPUS,
    run=requests.import_requested_features,
    as_job=True,
    rest=Rest(
        "POST",
        "feature-uploads",
        "features",
        example={"name": "net", "corpus": "harbour", "kind": "image"},
    ),
    command=CommandLine(positional=("corpus", "file"), text=texts.stored_text),
    page=FormPage(started=_("Importing the features.")),
)
register(
    name="train_word_vectors",
    title=_("Train word vectors"),
    permission=_ON_CORPUS,
    run=requests.train_requested_vectors,
    before_job=requests.check_word_vectors,
    as_job=True,
    rest=Rest(
        "POST",
        "word-vectors",
        "features",
        example={"corpus": "harbour", "name": "own-words", "dimensions": 100},
    ),
    command=CommandLine(positional=("corpus",), text=texts.stored_text),
    page=FormPage(started=_("Training the word vectors.")),
)
register(
    name="extract_features",
    title=_("Compute features"),
    permission=_ON_CORPUS,
    run=extracting.extract_requested_features,
    as_job=True,
    rest=Rest(
        "POST",
        "features",
        "features",
        route="features",
        example={"name": "net", "corpus": "harbour", "weights": "colours.onnx"},
    ),
    command=CommandLine(positional=("corpus",), text=texts.stored_text),
    page=FormPage(started=_("Computing the features.")),
)
register(
    name="extract_regions",
    title=_("Find regions, and compute their features"),
    permission=_ON_CORPUS,
    run=extracting.extract_requested_regions,
    before_job=extracting.check_regions,
    as_job=True,
    rest=Rest(
        "POST",
        "regions",
        "features",
        example={"name": "parts", "corpus": "harbour", "weights": "colours.onnx", "method": "grid"},
    ),
    command=CommandLine(positional=("corpus",), text=texts.stored_text),
    page=FormPage(started=_("Computing the features.")),
)
register(
    title=_("Store the visual words of pictures"),
    permission=_ON_CORPUS,
    run=extracting.extract_visual_words,
    as_job=True,
    command=CommandLine(positional=("corpus",), text=texts.words_text),
)
register(
    title=_("Export the visual words of pictures"),
    result=File("application/octet-stream"),
    permission=_ON_CORPUS,
    run=extracting.export_visual_words,
    command=CommandLine(positional=("corpus",), text=texts.words_text),
)
