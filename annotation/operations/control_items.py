"""Control items of campaigns: listed, counted, added, retired."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from annotation.common.operations import CommandLine, FormPage, Rest, register
from annotation.common.plain_text import text_table
from annotation.moderation import control_requests as requests
from annotation.operations.campaigns import MAY_RUN, ONE_CAMPAIGN
from annotation.protocol.questions import QUESTIONS

_ITEMS, _TAG = f"{ONE_CAMPAIGN}/control-items", "preparing"
_SKIPPED = 20


def _added(result: requests.AddedControls) -> str:
    text = ngettext("%(n)d control item added", "%(n)d control items added", result.added)
    there = ngettext("; %(n)d already existed.", "; %(n)d already existed.", result.there)
    message = text % {"n": result.added} + (there % {"n": result.there} if result.there else ".")
    if result.skipped:
        skipped = ngettext(
            "%(n)d was skipped, because something contradicts its answer or it is no longer asked: "
            "%(items)s.",
            "%(n)d were skipped, because something contradicts their answers or they are no longer asked: "
            "%(items)s.",
            len(result.skipped),
        )
        names = "; ".join(result.skipped[:_SKIPPED]) + ("; …" if len(result.skipped) > _SKIPPED else "")
        message += " " + skipped % {"n": len(result.skipped), "items": names}
    return message


def _retired(result: requests.RetiredControl) -> str:
    if not result.workers:
        return str(_("Item retired. Answers already given to it still count."))
    text = ngettext(
        "Item retired. The accuracy of %(n)d worker no longer counts it.",
        "Item retired. The accuracy of %(n)d workers no longer counts it.",
        result.workers,
    )
    return text % {"n": result.workers}


def _counts_text(result: requests.ControlItemCounts) -> str:
    rows = [[row.kind, row.purpose, row.answer, row.items] for row in result.counts]
    table = text_table(["question", "purpose", "gold answer", "items"], rows) if rows else "no control items"
    return "\n".join([table, *(f"warning: {warning}" for warning in result.warnings)])


register(
    title=_("List the control items of a campaign"),
    result=requests.ControlItemSummary,
    permission=MAY_RUN,
    run=requests.list_control_items,
    rest=Rest("GET", _ITEMS, _TAG, route="campaign_controls"),
)
register(
    title=_("Count the control items of a campaign"),
    permission=MAY_RUN,
    run=requests.count_control_items,
    rest=Rest("GET", f"{_ITEMS}/counts", _TAG),
    command=CommandLine(text=_counts_text),
)
register(
    name="add_control_items",
    title=_("Add control items"),
    permission=MAY_RUN,
    run=requests.add_controls,
    rest=Rest(
        "POST",
        _ITEMS,
        _TAG,
        route="campaign_controls",
        example={
            "items": [
                {
                    "kind": QUESTIONS[0],
                    "purpose": "control",
                    "image": "scene-1",
                    "mentions": ["0:0-2", "1:0-2"],
                    "answer": "yes",
                }
            ]
        },
    ),
    command=None,
)
register(
    title=_("Add control items from a correct layer"),
    permission=MAY_RUN,
    run=requests.add_controls_from_layer,
    rest=Rest("POST", f"{_ITEMS}/from-layer", _TAG, example={"layer": "import", "images": 60}),
    page=FormPage(done=_added),
)
register(
    title=_("Add control items from captions"),
    permission=MAY_RUN,
    run=requests.add_controls_from_captions,
    rest=Rest("POST", f"{_ITEMS}/from-captions", _TAG, example={"split": "val"}),
    page=FormPage(done=_added),
)
register(
    title=_("Make control items from answers that workers agree on"),
    permission=MAY_RUN,
    run=requests.promote_answers,
    rest=Rest("POST", f"{_ITEMS}/from-answers", _TAG, example={"kind": QUESTIONS[0]}),
    page=FormPage(done=_added),
)
register(
    title=_("Import control items"),
    permission=MAY_RUN,
    run=requests.import_controls,
    rest=Rest("POST", f"{_ITEMS}/from-file", _TAG, example={"file": "items.csv"}),
    command=CommandLine(positional=("campaign", "file")),
    page=FormPage(done=_added),
)
register(
    title=_("Take a control item out of use"),
    permission=MAY_RUN,
    run=requests.retire_control_item,
    rest=Rest("POST", f"{_ITEMS}/<int:item>/retire", _TAG, example={"incorrect": True}),
    page=FormPage(done=_retired),
)
