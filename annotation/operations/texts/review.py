"""What commands print of reviewing, and what pages say of it."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.common.operations import Pages
from annotation.common.plain_text import text_table
from annotation.moderation.reviewing import ReviewedImage, RuledImage


def queue_text(pages: Pages) -> str:
    """The chains that wait, of every image."""
    rows = [
        [image.image, chain.reason, chain.title, chain.boxes, ",".join(chain.mentions), image.changed_at]
        for image in pages.every()
        for chain in image.chains
    ]
    if not rows:
        return "no chain waits for a reviewer"
    return text_table(["image", "reason", "called", "boxes", "chain", "since"], rows)


def image_text(image: ReviewedImage) -> str:
    """The chains of an image, what merged, and its rulings."""
    rows = [
        [
            ",".join(chain.mentions),
            chain.title,
            chain.stage + (f" ({chain.reason})" if chain.reason else ""),
            " ".join(",".join(map(str, box)) for box in chain.boxes) or chain.kind,
        ]
        for chain in image.chains
    ]
    lines = [text_table(["chain", "called", "stage", "boxes"], rows)]
    lines += [
        f"merged {entry.what} of {', '.join(entry.chains)} at IoU {entry.iou:.2f}" for entry in image.merged
    ]
    for entry in image.rulings:
        words = " ".join(f"{key}={value}" for key, value in entry.ruling.items() if key != "kind")
        withdrawn = ", withdrawn" if entry.withdrawn_at else ""
        lines.append(f"ruling {entry.number}: {entry.ruling['kind']} {words}{withdrawn}")
    return "\n".join(lines)


def ruling_text(result: RuledImage) -> str:
    """That a ruling is in force, and what it retired."""
    return _ruled_text(result, "in force")


def ruling_withdrawn_text(result: RuledImage) -> str:
    """That a ruling is withdrawn, and what that retired."""
    return _ruled_text(result, "withdrawn")


def withdrawn_message(result: RuledImage) -> str:
    """That a ruling was withdrawn, and the control items that were retired."""
    message = _("Ruling withdrawn. The workers' answers decide again.")
    if not result.retired:
        return message
    retired = ngettext(
        "%(n)d control item contradicts the ruling and was retired: %(items)s.",
        "%(n)d control items contradict the ruling and were retired: %(items)s.",
        len(result.retired),
    )
    return f"{message} {retired % {'n': len(result.retired), 'items': '; '.join(result.retired)}}"


def _ruled_text(result: RuledImage, state: str) -> str:
    lines = [
        f"ruling {result.number} of image {result.image} is {state}; {result.waiting} of its chains wait"
    ]
    lines += [f"control item retired, because it contradicts the ruling: {item}" for item in result.retired]
    return "\n".join(lines)
