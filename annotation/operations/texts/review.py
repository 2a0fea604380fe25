"""What commands print of reviewing, and what pages say of it."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.common.operations import Pages
from annotation.common.plain_text import plain_table
from annotation.moderation.reviewing import ReviewedImage, RuledImage


def queue_text(pages: Pages) -> str:
    """The chains that wait, of every image."""
    rows = [
        [one.image, each.reason, each.title, each.boxes, ",".join(each.mentions), one.changed_at]
        for one in pages.every()
        for each in one.chains
    ]
    if not rows:
        return "no chain waits for a reviewer"
    return plain_table(["image", "reason", "called", "boxes", "chain", "since"], rows)


def image_text(one: ReviewedImage) -> str:
    """The chains of an image, what merged, and its rulings."""
    rows = [
        [
            ",".join(chain.mentions),
            chain.title,
            chain.stage + (f" ({chain.reason})" if chain.reason else ""),
            " ".join(",".join(map(str, box)) for box in chain.boxes) or chain.kind,
        ]
        for chain in one.chains
    ]
    lines = [plain_table(["chain", "called", "stage", "boxes"], rows)]
    lines += [f"merged {each.what} of {', '.join(each.chains)} at IoU {each.iou:.2f}" for each in one.merged]
    for each in one.rulings:
        words = " ".join(f"{key}={value}" for key, value in each.ruling.items() if key != "kind")
        withdrawn = ", withdrawn" if each.withdrawn_at else ""
        lines.append(f"ruling {each.number}: {each.ruling['kind']} {words}{withdrawn}")
    return "\n".join(lines)


def ruling_made_text(one: RuledImage) -> str:
    """That a ruling is in force, and what it retired."""
    return _ruled_text(one, "in force")


def ruling_withdrawn_text(one: RuledImage) -> str:
    """That a ruling is withdrawn, and what that retired."""
    return _ruled_text(one, "withdrawn")


def withdrawn_message(one: RuledImage) -> str:
    """That a ruling was withdrawn, and the control items that were retired."""
    message = _("Ruling withdrawn. The workers' answers decide again.")
    if not one.retired:
        return message
    retired = ngettext(
        "%(n)d control item contradicts the ruling and was retired: %(items)s.",
        "%(n)d control items contradict the ruling and were retired: %(items)s.",
        len(one.retired),
    )
    return f"{message} {retired % {'n': len(one.retired), 'items': '; '.join(one.retired)}}"


def _ruled_text(one: RuledImage, state: str) -> str:
    lines = [f"ruling {one.number} of image {one.image} is {state}; {one.waiting} of its chains wait"]
    lines += [f"control item retired, because it contradicts the ruling: {item}" for item in one.retired]
    return "\n".join(lines)
