"""Operations on the settings of campaigns, and their texts: instructions and consent."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from annotation import instructions
from annotation.campaigns import WHEN, StaleSettings, settings
from annotation.campaigns.training import link_chances
from annotation.common.operations import CommandLine, FormPage, Has, OperationContext, Rest, register
from annotation.instructions import publishing
from annotation.operations.campaigns import MAY_READ, MAY_RUN, ONE_CAMPAIGN
from annotation.protocol.boxes import TRANSITIONS, Transition, mermaid

_EXAMPLE = {"campaign_settings": {"trust": {"bar": 0.75}}, "base_version": 1}


@dataclass(frozen=True, slots=True)
class ProtocolRequest:
    """The transition table of questions about boxes, and its diagram in Mermaid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxProtocol:
    """The transition table, and its diagram as a Mermaid state diagram."""

    rows: tuple[Transition, ...]
    mermaid: str


def show_protocol(request: ProtocolRequest, context: OperationContext) -> BoxProtocol:
    """Return the transition table of the box loop."""
    return BoxProtocol(rows=TRANSITIONS, mermaid=mermaid())


def _plan_text(plan: settings.PlannedSettings) -> str:
    lines = [
        f"{difference.name}: {difference.before!r} -> {difference.after!r}, {WHEN[difference.when]}"
        for difference in plan.changed
    ]
    lines += [f"{plan.reopened} images are reopened"] if plan.reopened else []
    return "\n".join(lines) or "the settings are the same as those in force"


def _changed_text(done: settings.ChangedSettings) -> str:
    return f"{_plan_text(done)}\nversion {done.version} of the settings is in force"


def _learned_text(run: link_chances.LearnedLinkChances) -> str:
    text = f"learned from {run.images} images: {run.pairs} pairs of head nouns"
    if not run.changed:
        return f"{text}; the settings are the same as before"
    reopened = f" ({run.reopened} images)" if run.reopened else ""
    return f"{text}; version {run.version} of the settings holds {WHEN[run.changed[0].when]}{reopened}"


def _published(result: publishing.PublishedText) -> str:
    if not result.changed:
        return str(_("The text is the same as before; nothing was published."))
    return _("Published: workers now read version %(number)d.") % {"number": result.version}


def _texts_text(result: publishing.CampaignTexts) -> str:
    return "\n\n".join(f"-- {text.kind}, version {text.version}\n\n{text.text}" for text in result.texts)


register(
    title=_("Show the settings of a campaign"),
    permission=MAY_READ,
    run=settings.show_settings,
    rest=Rest("GET", f"{ONE_CAMPAIGN}/settings", "campaigns", route="campaign_settings"),
)
register(
    title=_("List the versions of a campaign's settings"),
    result=settings.StoredSettings,
    permission=MAY_READ,
    run=settings.list_settings_versions,
    rest=Rest("GET", f"{ONE_CAMPAIGN}/settings/versions", "campaigns", route="campaign_settings_versions"),
)
register(
    title=_("Show what a change of settings would do"),
    request=settings.PlanSettingsRequest,
    result=settings.PlannedSettings,
    permission=MAY_RUN,
    run=settings.plan_settings,
    stale=(StaleSettings,),
    rest=Rest("POST", f"{ONE_CAMPAIGN}/settings-plans", "campaigns", example=_EXAMPLE),
    command=CommandLine(text=_plan_text),
    page=FormPage("change_settings"),
)
register(
    name="change_settings",
    title=_("Change the settings of a campaign"),
    request=settings.ChangeSettingsRequest,
    result=settings.ChangedSettings,
    permission=MAY_RUN,
    run=settings.change_named_settings,
    stale=(StaleSettings,),
    rest=Rest(
        "PATCH",
        f"{ONE_CAMPAIGN}/settings",
        "campaigns",
        route="campaign_settings",
        own_transactions=True,
        example=_EXAMPLE,
    ),
    command=CommandLine(text=_changed_text),
    page=FormPage("change_settings"),
)
register(
    title=_("List the texts of a campaign"),
    permission=MAY_RUN,
    run=publishing.list_texts,
    rest=Rest("GET", f"{ONE_CAMPAIGN}/texts", "preparing", route="texts"),
    command=CommandLine(text=_texts_text),
)
register(
    name="publish_text",
    title=_("Publish a text of a campaign"),
    permission=MAY_RUN,
    run=publishing.publish_named_text,
    stale=(instructions.StaleText,),
    rest=Rest(
        "POST",
        f"{ONE_CAMPAIGN}/texts",
        "preparing",
        route="texts",
        example={"kind": "consent", "text": "You agree that your answers are published."},
    ),
    page=FormPage(done=_published),
)
register(
    name="learn_links",
    title=_("Learn likely links"),
    permission=MAY_RUN,
    run=link_chances.learn_named_links,
    stale=(StaleSettings,),
    rest=Rest("POST", f"{ONE_CAMPAIGN}/learn-links", "campaigns", own_transactions=True, example={}),
    command=CommandLine(text=_learned_text),
    page=FormPage(done=_("Learned from %(images)d images: version %(version)d of the settings is in force.")),
)
register(
    title=_("Show the box loop"),
    permission=Has(()),
    run=show_protocol,
    rest=Rest("GET", "protocol", "campaigns", route="protocol"),
    command=CommandLine(text=lambda result: str(result.mermaid)),
)
