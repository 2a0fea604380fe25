"""Corpora: listed, shown, deleted; their licence; a picture withdrawn."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from annotation.common.locks import Busy
from annotation.common.operations import CommandLine, FormPage, Has, Operation, Rest, register
from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.datasets import corpus_summaries, licences
from annotation.datasets.deleting import CorpusInUse
from annotation.jobs.kinds import delete_corpus as deleting
from annotation.moderation import withdrawing

_READS = Has((REVIEWER, RESEARCHER), on="corpus")
_RUNS = Has((RESEARCHER,), on="corpus")
_ONE = "corpora/<slug:corpus>"
_ON_CORPUS = CommandLine(positional=("corpus",))


def _withdrawn(result: withdrawing.PictureWithdrawal) -> str:
    corpora = list(result.corpora)
    if result.others:
        others = ngettext("%(count)d other corpus", "%(count)d other corpora", result.others)
        corpora.append(others % {"count": result.others})
    return _("Picture withdrawn from %(corpora)s, with %(tasks)s and %(exports)s.") % {
        "corpora": ", ".join(corpora),
        "tasks": ngettext("%(n)d open task", "%(n)d open tasks", result.tasks) % {"n": result.tasks},
        "exports": ngettext("%(n)d export", "%(n)d exports", result.exports) % {"n": result.exports},
    }


register(
    Operation(
        name="list_corpora",
        title=_("List corpora"),
        request=corpus_summaries.CorporaRequest,
        result=corpus_summaries.CorpusSummary,
        permission=Has((REVIEWER, RESEARCHER)),
        run=corpus_summaries.list_corpora,
        listed=True,
        rest=Rest("GET", "corpora", "corpora", route="corpora"),
    )
)
register(
    Operation(
        name="show_corpus",
        title=_("Show a corpus"),
        request=corpus_summaries.CorpusRequest,
        result=corpus_summaries.CorpusDetail,
        permission=_READS,
        run=corpus_summaries.show_corpus,
        rest=Rest("GET", _ONE, "corpora", route="corpus"),
        command=_ON_CORPUS,
    )
)
register(
    Operation(
        name="list_layers",
        title=_("List the layers of a corpus"),
        request=corpus_summaries.LayersRequest,
        result=corpus_summaries.LayerSummary,
        permission=_READS,
        run=corpus_summaries.list_layers,
        listed=True,
        rest=Rest("GET", f"{_ONE}/layers", "corpora", route="layers"),
        command=_ON_CORPUS,
    )
)
register(
    Operation(
        name="set_licence",
        title=_("Set the licence of a corpus"),
        request=licences.LicenceRequest,
        result=corpus_summaries.CorpusSummary,
        permission=_RUNS,
        run=licences.set_named_licence,
        rest=Rest("PATCH", _ONE, "corpora", route="corpus", example={"licence": "CC BY 4.0"}),
        command=_ON_CORPUS,
        page=FormPage(done=_("Licence saved: datasheets of exports have it from now on.")),
    )
)
register(
    Operation(
        name="delete_corpus",
        title=_("Delete a corpus"),
        request=deleting.DeleteCorpusRequest,
        result=None,
        permission=_RUNS,
        run=deleting.delete_named_corpus,
        errors=(CorpusInUse, Busy),
        rest=Rest("DELETE", _ONE, "corpora", route="corpus"),
        command=_ON_CORPUS,
        page=FormPage(done=_("Corpus deleted."), sure=_("I understand that this cannot be undone")),
    )
)
register(
    Operation(
        name="withdraw_picture",
        title=_("Withdraw a picture"),
        request=withdrawing.WithdrawPictureRequest,
        result=withdrawing.PictureWithdrawal,
        permission=_RUNS,
        run=withdrawing.withdraw_named_picture,
        errors=(withdrawing.CannotWithdraw,),
        command=CommandLine(positional=("corpus", "image")),
        page=FormPage(done=_withdrawn),
    )
)
