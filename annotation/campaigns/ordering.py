"""The order of a campaign's images: staff give some of them a priority.

Tasks are leased by decreasing priority of their image, and in the images' order within a priority. Leases
that workers hold are not affected.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from pydantic import Field

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import Help, OperationContext
from annotation.models import Account, Campaign, OpenImage
from annotation.protocol.campaign_settings import CampaignError
from annotation.queue import image_rows
from annotation.selectors.corpora import CampaignRequest, names_of_images
from phrasebox.names import AmbiguousName

#: The default priority of an image, that of one that should come first, and the range.
USUAL, FIRST, LEAST, MOST = 0, 1, -1000, 1000
#: Number of image names in an error; the others are counted.
_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PrioritiseRequest(CampaignRequest):
    """Their questions of every kind come before those of other images. Tasks that workers have already are
    not affected."""

    images: Annotated[
        tuple[Annotated[str, Field(max_length=255)], ...],
        Field(min_length=1, max_length=1000),
        Help(gettext_lazy("Images"), gettext_lazy("By key or file name, one on each line"), lines=6),
    ]
    priority: Annotated[
        int,
        Field(ge=LEAST, le=MOST),
        Help(
            gettext_lazy("Priority"),
            gettext_lazy("Higher comes first; 0 is the default, negative numbers come last"),
        ),
    ] = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class PrioritisedImages:
    """How many images have the priority now."""

    images: int
    priority: int


def prioritise_images(
    *, campaign: Campaign, images: Iterable[str], priority: int = FIRST, actor: Account | None = None
) -> int:
    """Set the priority of open images, given by key or file name, and of their tasks. Return the number of
    images.

    Higher comes first, 0 is the default. All or none: raises CampaignError if no image is given, one is
    not in the corpus or not open in the campaign, the priority is out of range, or the campaign is closed.
    """
    if campaign.state == Campaign.CLOSED:
        raise CampaignError(
            _("Campaign “%(name)s” is closed: nobody is asked any more.") % {"name": campaign.name}
        )
    names = list(dict.fromkeys(name for name_of_image in images if (name := name_of_image.strip())))
    if not names:
        raise CampaignError(_("No image is named: give at least one, by its file name."))
    with database.writing():
        rows = _images_named(campaign, names)
        done = image_rows.prioritise(campaign=campaign, images=rows, priority=priority)
        record(actor=actor, act="prioritise_images", campaign=campaign, images=done, priority=priority)
    return done


def _images_named(campaign: Campaign, names: Sequence[str]) -> list[int]:
    """Return the ids of the images with these names, without duplicates. Raises CampaignError listing unknown
    names."""
    images = names_of_images(campaign.corpus)
    try:
        named = {name: images.find(name) for name in names}
    except AmbiguousName as error:
        raise CampaignError(
            _("%(problem)s: write its file name. Nothing was changed.") % {"problem": error}
        ) from error
    unknown = [name for name, image in named.items() if image is None]
    if unknown:
        raise CampaignError(
            ngettext(
                "The corpus has no image %(names)s: correct the name, or leave it out. Nothing was changed.",
                "The corpus has no such %(n)d images: %(names)s. Correct the names, or leave them out. "
                "Nothing was changed.",
                len(unknown),
            )
            % {"n": len(unknown), "names": _listed(unknown)}
        )
    is_open = set(OpenImage.objects.filter(campaign=campaign).values_list("image", flat=True))
    shut = [name for name, image in named.items() if image not in is_open]
    if shut:
        raise CampaignError(
            ngettext(
                "Image %(names)s is not open in this campaign: open it first, wait until it is opened as "
                "others are finished, or leave it out. Nothing was changed.",
                "%(n)d images are not open in this campaign: %(names)s. Open them first, wait until they are "
                "opened as others are finished, or leave them out. Nothing was changed.",
                len(shut),
            )
            % {"n": len(shut), "names": _listed(shut)}
        )
    return list(dict.fromkeys(image for image in named.values() if image is not None))


def _listed(names: Sequence[str]) -> str:
    """Return the first of some names."""
    return ", ".join(f"“{name[:60]}”" for name in names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


def prioritise_named_images(request: PrioritiseRequest, context: OperationContext) -> PrioritisedImages:
    """Set the priority of images of a campaign."""
    images = prioritise_images(
        campaign=request.row(), images=request.images, priority=request.priority, actor=context.actor
    )
    return PrioritisedImages(images=images, priority=request.priority)
