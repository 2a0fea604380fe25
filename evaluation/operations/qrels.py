"""Operations on qrels: freeze, import, export, list, show, remove."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, File, FormPage, Has, Rest, StoredThing, register_stored
from annotation.common.roles import RESEARCHER
from evaluation.operations import register
from evaluation.operations.judgments import frozen_text, imported_qrels_text
from evaluation.services.judgments import freeze_request, listing, qrels_files
from evaluation.services.judgments.freezing import remove_qrels
from evaluation.services.stored_kinds import QRELS

_ON_CORPUS = Has((RESEARCHER,), on="corpus", corpora=True)

register_stored(
    StoredThing(
        kind=QRELS,
        word="qrels",
        words="qrels",
        titles=(_("List qrels"), _("Show qrels"), "", _("Remove a version of qrels")),
        path="qrels",
        route="qrels_version",
        roles=(RESEARCHER,),
        listing=listing.JudgedRequest,
        results=(listing.QrelsSummary, listing.QrelsDetail),
        summary=listing.qrels_summary,
        detail=listing.described_qrels,
        order="-pk",
        related=("corpus", "judgments"),
        remove=lambda row, actor: remove_qrels(name=f"{row.name}:{row.version}", actor=actor),
        removed=_("The version is removed."),
    )
)
register(
    name="freeze_qrels",
    title=_("Freeze qrels"),
    permission=_ON_CORPUS,
    run=freeze_request.freeze,
    before_job=freeze_request.check_freezing,
    as_job=True,
    rest=Rest(
        "POST",
        "qrels",
        "qrels",
        route="qrels",
        example={
            "name": "originals",
            "corpus": "harbour",
            "protocol": "first caption",
            "split": "test",
        },
    ),
    command=CommandLine(positional=("name",), text=frozen_text),
    page=FormPage("evaluation:freeze_qrels", started=_("Freezing the qrels. They will appear here.")),
)
register(
    title=_("Import qrels"),
    permission=_ON_CORPUS,
    run=qrels_files.import_qrels,
    rest=Rest(
        "POST",
        "qrels-uploads",
        "qrels",
        own_transactions=True,
        creates="qrels/{qrels}:{version}",
        example={"name": "pooled", "corpus": "harbour", "format": "trec"},
    ),
    command=CommandLine(positional=("name", "file"), text=imported_qrels_text),
    page=FormPage("evaluation:import_qrels"),
)
register(
    title=_("Export qrels"),
    result=File("text/plain"),
    permission=Has((RESEARCHER,), on="qrels", corpora=True),
    run=qrels_files.export_qrels,
    rest=Rest("GET", "qrels/<str:qrels>/file", "qrels"),
    page=FormPage(),
)
