"""Reviewing: what waits, rulings, and what workers reported."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, FormPage, Has, Rest, register
from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.moderation import reviewing
from annotation.moderation.rulings import CannotRule
from annotation.operations.texts import review as texts
from annotation.protocol.contents import InvalidContent

_ON_CAMPAIGN = Has((REVIEWER, RESEARCHER), on="campaign")
_TAG = "reviewing"
_CAMPAIGN = "campaigns/<slug:campaign>"
_IMAGE = f"{_CAMPAIGN}/review/images/<str:image>"

register(
    name="review_queue",
    title=_("List what waits for a reviewer"),
    result=reviewing.QueuedImage,
    permission=_ON_CAMPAIGN,
    run=reviewing.list_waiting,
    listed=True,
    rest=Rest("GET", f"{_CAMPAIGN}/review", _TAG),
    command=CommandLine(positional=("campaign",), text=texts.queue_text),
)
register(
    name="review_image",
    title=_("Show an image to be reviewed"),
    permission=_ON_CAMPAIGN,
    run=reviewing.show_reviewed_image,
    rest=Rest("GET", _IMAGE, _TAG),
    command=CommandLine(positional=("campaign", "image"), text=texts.image_text),
)
register(
    name="make_ruling",
    title=_("Make a ruling"),
    permission=_ON_CAMPAIGN,
    run=reviewing.rule_about_image,
    errors=(CannotRule, InvalidContent),
    rest=Rest(
        "POST",
        f"{_IMAGE}/rulings",
        _TAG,
        creates="campaigns/{campaign}/review/images/{image}",
        example={"kind": "closure", "mentions": ["0:0-2"], "closure": "none"},
    ),
    command=CommandLine(positional=("campaign", "image", "kind"), text=texts.ruling_text),
)
register(
    name="withdraw_ruling",
    title=_("Withdraw a ruling"),
    permission=_ON_CAMPAIGN,
    run=reviewing.take_ruling_back,
    errors=(CannotRule,),
    rest=Rest("DELETE", f"{_CAMPAIGN}/review/rulings/<int:ruling>", _TAG),
    command=CommandLine(positional=("campaign", "ruling"), text=texts.ruling_withdrawn_text),
    page=FormPage(done=texts.withdrawn_message),
)
register(
    title=_("List what workers reported"),
    result=reviewing.WorkerFlag,
    permission=_ON_CAMPAIGN,
    run=reviewing.list_flags,
    listed=True,
    rest=Rest("GET", f"{_CAMPAIGN}/flags", _TAG),
    command=CommandLine(positional=("campaign",)),
)
register(
    name="resolve_flag",
    title=_("Mark a report as handled"),
    permission=_ON_CAMPAIGN,
    run=reviewing.mark_flag_handled,
    rest=Rest("POST", f"{_CAMPAIGN}/flags/<int:flag>/resolve", _TAG),
    command=CommandLine(positional=("campaign", "flag")),
    page=FormPage(done=_("Report marked as handled.")),
)
