"""Judgments: imported, listed, shown, removed; how far they agree."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import (
    CommandLine,
    FormPage,
    Has,
    Rest,
    StoredThing,
    register,
    register_stored,
)
from annotation.common.roles import RESEARCHER
from evaluation.operations import judgment_texts as texts
from evaluation.services.judgments import agreements, importing, listing
from evaluation.services.stored_kinds import JUDGMENTS_ANYWHERE

register_stored(
    StoredThing(
        kind=JUDGMENTS_ANYWHERE,
        word="judgments",
        words="judgment_sets",
        titles=(_("List judgments"), _("Show judgments"), "", _("Remove judgments")),
        path="judgment-sets",
        route="judgment_set",
        roles=(RESEARCHER,),
        listing=listing.JudgedRequest,
        results=(listing.JudgmentSummary, listing.JudgmentDetail),
        summary=listing.judgment_summary,
        detail=listing.judgment_detail,
        order="-pk",
        remove=lambda row, actor: importing.remove_judgments(
            corpus=row.corpus.name, name=row.name, actor=actor
        ),
        removed=_("Judgments removed."),
    )
)
register(
    title=_("Import judgments"),
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=importing.import_judgments,
    errors=(OSError,),
    rest=Rest(
        "POST",
        "judgment-sets",
        "judgment-sets",
        route="judgment_sets",
        own_transactions=True,
        creates="judgment-sets/{corpus}:{judgments}",
        example={"name": "grades", "corpus": "harbour", "format": "table", "scale": "0-5"},
    ),
    command=CommandLine(positional=("corpus", "file"), text=texts.judgments_text),
    page=FormPage("evaluation:import_qrels"),
)
register(
    name="agreement",
    title=_("Measure agreement"),
    permission=Has((RESEARCHER,), corpora=True),
    run=agreements.agreement_of_sets,
    errors=(OSError,),
    rest=Rest(
        "POST",
        "agreement",
        "judgment-sets",
        own_transactions=True,
        example={"judgments": "harbour:grades", "resamples": 100},
    ),
    command=CommandLine(positional=("file",), text=texts.agreement_text, layouts=texts.AGREEMENT_LAYOUTS),
    page=FormPage(table=texts.agreement_page_table),
)
