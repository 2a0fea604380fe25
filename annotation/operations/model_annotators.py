"""Operations on model annotators of a campaign: list, add, report savings."""

from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.campaigns import model_annotators
from annotation.campaigns.training import asking_models, model_addresses, proposals
from annotation.common.operations import CommandLine, File, FormPage, Has, Listing, Rest, register
from annotation.common.plain_text import text_table
from annotation.common.roles import RESEARCHER
from annotation.protocol.answer_times import table_of_savings
from annotation.selectors.model_annotators import saving_report
from annotation.selectors.model_annotators.reports import ModelAnnotatorReport
from annotation.selectors.model_annotators.saving_report import ModelAnnotatorSaving

_ON_CAMPAIGN = Has((RESEARCHER,), on="campaign")
_TAG = "model_annotators"
_PATH = "campaigns/<slug:campaign>/model-annotators"


def _model_annotators_text(listing: Listing) -> str:
    """Return each model annotator, and its boxes by category."""
    return "\n".join(map(_model_annotator_text, listing.rows)) or "none"


def _model_annotator_text(report: ModelAnnotatorReport) -> str:
    """Return the state of a model annotator, and the verdicts on its boxes."""
    line = (
        f"{report.name} ({report.worker}): version {report.version}, {report.state}"
        f"{'' if report.works else ', proposes nothing now'}; "
        f"{report.good} of {report.judged} judged boxes accepted, {report.waiting} wait"
    )
    if not report.categories:
        return line
    rows = [
        [
            category.category,
            category.judged,
            category.good,
            "people draw" if category.left or not report.works else "",
        ]
        for category in report.categories
    ]
    return f"{line}\n{text_table(['category', 'judged', 'accepted', ''], rows)}"


def _saving_text(saving: ModelAnnotatorSaving) -> str:
    """Return the savings by model annotators, over a grid of prices."""
    lines = [
        "Share of people's seconds saved, by what a drawing and a look take:",
        table_of_savings(saving.shares),
    ]
    if saving.measured is not None:
        lines.append(
            f"at {saving.times.drawing:.1f} s a drawing and {saving.times.looking:.1f} s a look, as measured "
            f"here: {saving.measured:+.1%}"
        )
    return "\n".join(lines)


def _imported_text(done: proposals.ImportedProposals) -> str:
    """Return how many boxes a model annotator got from a file, and what it answered."""
    of_file = (
        f"; {done.clipped} boxes reached out of their picture and were cut, {done.outside} lay "
        "wholly outside and were left out"
        if done.clipped or done.outside
        else ""
    )
    return (
        f"model annotator {done.model_annotator}, version {done.version}: boxes for {done.images} images; "
        f"{done.answers} questions answered at once{of_file}"
    )


def _address_text(state: model_addresses.ModelAddressState) -> str:
    """Return where a model answers, and what its calls cost."""
    return (
        f"model annotator {state.model_annotator} asks {state.model or 'the model'} at {state.address}; "
        f"{state.spent} of {state.budget} {state.currency} are spent"
    )


def _asked_text(done: asking_models.AskedModel) -> str:
    """Return what a model answered, and what that cost."""
    left = "".join(f"; {number} boxes left out ({reason})" for reason, number in done.left.items())
    return (
        f"model annotator {done.model_annotator}, version {done.version}: {done.boxes} boxes for "
        f"{done.images} images by {done.calls} calls{left}; {done.answers} questions answered at once\n"
        f"{done.failed} images without an answer, {done.unasked} for which the budget is too small\n"
        f"{done.spent} {done.currency} are spent"
    )


def _added_message(report: ModelAnnotatorReport) -> str:
    """Return the message that a model annotator was added."""
    return gettext("Model annotator “%(name)s” added. It proposes boxes once it has learned.") % {
        "name": report.name
    }


register(
    title=_("List model annotators"),
    result=ModelAnnotatorReport,
    permission=_ON_CAMPAIGN,
    run=saving_report.list_model_annotators,
    rest=Rest("GET", _PATH, _TAG, route="model_annotators"),
    command=CommandLine(text=_model_annotators_text),
)
register(
    title=_("Add a model annotator"),
    permission=_ON_CAMPAIGN,
    run=model_annotators.add_model_annotator,
    rest=Rest(
        "POST",
        _PATH,
        _TAG,
        route="model_annotators",
        creates="campaigns/{campaign}/model-annotators",
        example={"name": "drawer"},
    ),
    command=CommandLine(positional=("campaign", "name"), text=_model_annotator_text),
    page=FormPage(done=_added_message),
)
register(
    name="model_annotator_saving",
    title=_("Show the time saved by model annotators"),
    permission=_ON_CAMPAIGN,
    run=saving_report.show_model_annotator_saving,
    rest=Rest("GET", f"{_PATH}/saving", _TAG),
    command=CommandLine(text=_saving_text),
)
register(
    title=_("Export the boxes that a model annotator proposes"),
    result=File("application/x-ndjson"),
    permission=_ON_CAMPAIGN,
    run=proposals.export_proposals,
    rest=Rest("GET", f"{_PATH}/<slug:model_annotator>/proposals", _TAG, route="model_proposals"),
)
register(
    title=_("Import the boxes that a model annotator proposes"),
    permission=_ON_CAMPAIGN,
    run=proposals.import_proposals,
    errors=(OSError,),
    as_job=True,
    rest=Rest(
        "POST",
        f"{_PATH}/<slug:model_annotator>/proposals",
        _TAG,
        route="model_proposals",
        example={"file": "boxes.jsonl"},
    ),
    command=CommandLine(positional=("campaign", "model_annotator", "file"), text=_imported_text),
    page=FormPage(started=_("Importing the boxes.")),
)
register(
    title=_("Set the address of a model"),
    permission=_ON_CAMPAIGN,
    run=model_addresses.set_model_address,
    rest=Rest(
        "POST",
        f"{_PATH}/<slug:model_annotator>/address",
        _TAG,
        route="model_address",
        example={"address": "https://models.example.org/predict"},
    ),
    command=CommandLine(positional=("campaign", "model_annotator", "address"), text=_address_text),
    page=FormPage(
        done=_("Address saved: ask the model when you like."),
        leads=lambda state: reverse("model_annotators", args=[state.campaign]),
    ),
)
register(
    title=_("Ask a model for boxes"),
    permission=_ON_CAMPAIGN,
    run=asking_models.ask_model,
    before_job=asking_models.check_can_ask,
    as_job=True,
    rest=Rest("POST", f"{_PATH}/<slug:model_annotator>/ask", _TAG, example={"images": 100}),
    command=CommandLine(text=_asked_text),
    page=FormPage(started=_("The model is being asked.")),
)
register(
    title=_("List the calls of a model"),
    result=model_addresses.ListedModelCall,
    permission=_ON_CAMPAIGN,
    run=model_addresses.list_model_calls,
    rest=Rest("GET", f"{_PATH}/<slug:model_annotator>/calls", _TAG),
)
