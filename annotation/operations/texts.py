"""What the workers of a campaign are told, and what they agree to."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from annotation import instructions
from annotation.common.operations import CommandLine, FormPage, Operation, Rest, register
from annotation.instructions import publishing
from annotation.operations.campaigns import MAY_RUN, ON_CAMPAIGN, ONE_CAMPAIGN
from annotation.protocol.campaign_settings import CampaignError


def _published(result: publishing.PublishedText) -> str:
    if not result.changed:
        return str(_("The text is the same as before; nothing was published."))
    return _("Published: workers now read version %(number)d.") % {"number": result.version}


def _texts_text(result: publishing.CampaignTexts) -> str:
    return "\n\n".join(f"-- {one.kind}, version {one.version}\n\n{one.text}" for one in result.texts)


register(
    Operation(
        name="list_texts",
        title=_("List the texts of a campaign"),
        request=publishing.TextsRequest,
        result=publishing.CampaignTexts,
        permission=MAY_RUN,
        run=publishing.list_texts,
        rest=Rest("GET", f"{ONE_CAMPAIGN}/texts", "preparing", route="texts"),
        command=CommandLine(positional=("campaign",), text=_texts_text),
    )
)
register(
    Operation(
        name="publish_text",
        title=_("Publish a text of a campaign"),
        request=publishing.PublishTextRequest,
        result=publishing.PublishedText,
        permission=MAY_RUN,
        run=publishing.publish_named_text,
        errors=(CampaignError,),
        stale=(instructions.StaleText,),
        rest=Rest(
            "POST",
            f"{ONE_CAMPAIGN}/texts",
            "preparing",
            route="texts",
            example={"kind": "consent", "text": "You agree that your answers are published."},
        ),
        command=ON_CAMPAIGN,
        page=FormPage(done=_published),
    )
)
