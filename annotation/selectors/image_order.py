"""Images of a campaign with another priority than the default."""

from dataclasses import dataclass

from django.db.models import Count, Q

from annotation.models import Campaign, OpenImage

#: Maximum number of images of a priority that are named; the others are counted.
MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class Prioritised:
    """The images of one priority: their number, the number of incomplete ones, and the first by file name."""

    priority: int
    images: int
    incomplete: int
    names: tuple[str, ...]

    @property
    def more(self) -> int:
        """Number of images that are not in `names`."""
        return self.images - len(self.names)


def prioritised(campaign: Campaign) -> list[Prioritised]:
    """Return the non-default priorities of a campaign's open images, the highest first."""
    rows = OpenImage.objects.filter(campaign=campaign).exclude(priority=0)
    counted = rows.values("priority").annotate(
        images=Count("pk"), incomplete=Count("pk", filter=Q(complete=False))
    )
    return [
        Prioritised(
            item["priority"],
            item["images"],
            item["incomplete"],
            tuple(
                rows.filter(priority=item["priority"])
                .order_by("position")
                .values_list("image__filename", flat=True)[:MOST_LISTED]
            ),
        )
        for item in counted.order_by("-priority")
    ]
