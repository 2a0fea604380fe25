"""Operations on the texts of a campaign: list them, and publish a new version."""

from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation import instructions
from annotation.common.operations import Help, OneOf, OperationContext, invalid
from annotation.selectors.corpora import CampaignRequest


def _kinds() -> dict[str, None]:
    return dict.fromkeys(instructions.known_texts())


@dataclass(frozen=True, slots=True, kw_only=True)
class TextsRequest(CampaignRequest):
    """The consent of workers, and the instructions of each kind of question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignTexts:
    """The texts in force; version 0 is built in."""

    texts: tuple[instructions.CampaignText, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishTextRequest(CampaignRequest):
    """The text is shown from now on. Paragraphs are separated by blank lines; one that begins with “Good: ”
    is an example of a good answer, one that begins with “Bad: ” of a mistake. Everybody must agree to a new
    consent; nobody to an empty one."""

    kind: Annotated[str, OneOf(_kinds), Help(_("Kind"), _("The consent, or a kind of question"))]
    text: Annotated[
        str,
        Field(max_length=instructions.LONGEST_INSTRUCTIONS),
        Help(_("Text"), _("Separate paragraphs by blank lines"), lines=18),
    ] = ""
    base_version: Annotated[
        Annotated[int, Field(ge=0)] | None,
        Help(_("Version"), _("That you read (0: built in); after a newer one, nothing is published")),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedText:
    """The text in force; `changed` is false if it was the same before."""

    kind: str
    version: int
    text: str
    changed: bool


def list_texts(request: TextsRequest, context: OperationContext) -> CampaignTexts:
    """Return the texts of a campaign."""
    row = request.row()
    kinds = (instructions.CONSENT, *row.kinds)
    return CampaignTexts(texts=tuple(instructions.current_text(campaign=row, kind=kind) for kind in kinds))


def publish_named_text(request: PublishTextRequest, context: OperationContext) -> PublishedText:
    """Publish a text as the next version."""
    row, kind = request.row(), request.kind
    if kind not in (instructions.CONSENT, *row.kinds):
        raise invalid("kind", "unknown", kind=_("text"), value=kind)
    before = instructions.current_text(campaign=row, kind=kind)
    after = instructions.publish_text(
        campaign=row, kind=kind, text=request.text, seen=request.base_version, actor=context.actor
    )
    return PublishedText(
        kind=kind, version=after.version, text=after.text, changed=after.version != before.version
    )
