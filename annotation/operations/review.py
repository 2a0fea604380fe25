"""Operations for reviewing: the queue, rulings, answers, and workers' reports."""

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, FormPage, Has, Pages, Rest, register
from annotation.common.plain_text import text_table
from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.moderation import answer_reviews, mending, reviewing
from annotation.moderation.answer_reviews import ReviewedAnswers
from annotation.moderation.mending import MendedImage, MendedImages, MendPreview
from annotation.moderation.reviewing import ReviewedImage, RuledImage
from annotation.selectors import answer_list


def queue_text(pages: Pages) -> str:
    """Return the chains that wait, of every image."""
    rows = [
        [image.image, chain.reason, chain.title, chain.boxes, ",".join(chain.mentions), image.changed_at]
        for image in pages.every()
        for chain in image.chains
    ]
    if not rows:
        return "no chain waits for a reviewer"
    return text_table(["image", "reason", "called", "boxes", "chain", "since"], rows)


def image_text(image: ReviewedImage) -> str:
    """Return the chains of an image, what merged, and its rulings."""
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
    """Return the ruling in force, and the control items that it retired."""
    return _ruled_text(result, "in force")


def ruling_withdrawn_text(result: RuledImage) -> str:
    """Return the withdrawn ruling, and the control items that this retired."""
    return _ruled_text(result, "withdrawn")


def withdrawn_message(result: RuledImage) -> str:
    """Return the message of a withdrawn ruling, with the control items that were retired."""
    message = gettext("Ruling withdrawn. The workers' answers decide again.")
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


def reviewed_text(result: ReviewedAnswers) -> str:
    """Return how many answers were reviewed, and the consequences."""
    lines = [f"{result.answers} answers reviewed; {result.images} images computed again"]
    if result.unpaid:
        lines.append(f"{result.unpaid} of them are not paid")
    if result.messages:
        lines.append(f"{result.messages} workers get the reason as a message")
    if result.drawers:
        lines.append(f"the status of {result.drawers} drawers changed with their verdicts")
    lines += [
        f"control item retired, because it depended on these answers: {item}" for item in result.retired
    ]
    return "\n".join(lines)


def reviewed_message(result: ReviewedAnswers) -> str:
    """Return how many answers were reviewed, and who reads the reason."""
    message = ngettext("%(n)d answer reviewed.", "%(n)d answers reviewed.", result.answers)
    message %= {"n": result.answers}
    if result.unpaid:
        more = ngettext("%(n)d is not paid.", "%(n)d are not paid.", result.unpaid)
        message = f"{message} {more % {'n': result.unpaid}}"
    if result.messages:
        more = ngettext("%(n)d worker gets the reason.", "%(n)d workers get the reason.", result.messages)
        message = f"{message} {more % {'n': result.messages}}"
    return message


def preview_text(result: MendPreview) -> str:
    """Return what a mend changes, what it asks again, and what that costs."""
    lines = [f"{result.images} images; phrases: {result.removed} before, {result.added} after"]
    lines += [f"  {before or '-'} -> {after or '-'}: {number}" for before, after, number in result.phrases]
    lines.append(f"{result.superseded} answers will no longer count; they stay stored and paid")
    opened = ", ".join(f"{number} {kind}" for kind, number in result.opened.items()) or "none"
    lines.append(f"questions that open at once: {opened}")
    answers = sum(result.answers.values())
    kinds = ", ".join(f"{number:+d} {kind}" for kind, number in result.answers.items()) or "none"
    lines.append(f"forecast: {answers:+d} answers ({kinds}), {result.cost} {result.currency}")
    if result.sampled < result.images:
        lines.append(f"the forecast is that of {result.sampled} of these images, for all of them")
    return "\n".join(lines)


def mended_text(result: MendedImage) -> str:
    """Return the rulings that changed an image's phrases, and the consequences."""
    numbers = ", ".join(map(str, result.rulings))
    lines = [f"phrases of image {result.image} changed (rulings {numbers})"]
    lines.append(f"{result.questions} questions are open, {result.waiting} chains wait")
    lines += [f"control item retired, because it contradicts the ruling: {item}" for item in result.retired]
    return "\n".join(lines)


def rule_applied_text(result: MendedImages) -> str:
    """Return how many images and phrases a rule changed, and where it could not be applied."""
    lines = [f"{result.phrases} phrases of {result.images} images changed"]
    if result.retired:
        lines.append(f"{result.retired} control items retired, because they contradict the rulings")
    lines += [f"image {image} skipped: {reason}" for image, reason in result.skipped.items()]
    return "\n".join(lines)


_ON_CAMPAIGN = Has((REVIEWER, RESEARCHER), on="campaign")
_TAG = "reviewing"
_CAMPAIGN = "campaigns/<slug:campaign>"
_IMAGE = f"{_CAMPAIGN}/review/images/<str:image>"

register(
    name="review_queue",
    title=_("List chains that wait for a reviewer"),
    result=reviewing.QueuedImage,
    permission=_ON_CAMPAIGN,
    run=reviewing.list_waiting,
    rest=Rest("GET", f"{_CAMPAIGN}/review", _TAG),
    command=CommandLine(text=queue_text),
)
register(
    name="review_image",
    title=_("Show an image to be reviewed"),
    permission=_ON_CAMPAIGN,
    run=reviewing.show_reviewed_image,
    rest=Rest("GET", _IMAGE, _TAG),
    command=CommandLine(text=image_text),
)
register(
    name="make_ruling",
    title=_("Make a ruling"),
    permission=_ON_CAMPAIGN,
    run=reviewing.rule_about_image,
    rest=Rest(
        "POST",
        f"{_IMAGE}/rulings",
        _TAG,
        creates="campaigns/{campaign}/review/images/{image}",
        example={"kind": "closure", "mentions": ["0:0-2"], "closure": "none"},
    ),
    command=CommandLine(positional=("campaign", "image", "kind"), text=ruling_text),
)
register(
    name="withdraw_ruling",
    title=_("Withdraw a ruling"),
    permission=_ON_CAMPAIGN,
    run=reviewing.take_ruling_back,
    rest=Rest("DELETE", f"{_CAMPAIGN}/review/rulings/<int:ruling>", _TAG),
    command=CommandLine(text=ruling_withdrawn_text),
    page=FormPage(done=withdrawn_message),
)
register(
    title=_("Preview a change of an image's phrases"),
    permission=_ON_CAMPAIGN,
    run=mending.preview_mend,
    rest=Rest("GET", f"{_IMAGE}/phrases", _TAG, route="reviewed_phrases"),
    command=CommandLine(text=preview_text),
)
register(
    title=_("Change an image's phrases"),
    permission=_ON_CAMPAIGN,
    run=mending.mend_phrases,
    rest=Rest(
        "POST",
        f"{_IMAGE}/phrases",
        _TAG,
        route="reviewed_phrases",
        example={"remove": ["0:0-2"], "add": ["0:1-2=people"]},
    ),
    command=CommandLine(text=mended_text),
)
register(
    title=_("Preview a rule on phrases"),
    permission=_ON_CAMPAIGN,
    run=mending.preview_phrase_rule,
    rest=Rest("GET", f"{_CAMPAIGN}/phrase-rules", _TAG, route="phrase_rules"),
    command=CommandLine(positional=("campaign", "words"), text=preview_text),
)
register(
    title=_("Apply a rule to phrases"),
    permission=_ON_CAMPAIGN,
    run=mending.apply_phrase_rule,
    as_job=True,
    rest=Rest(
        "POST",
        f"{_CAMPAIGN}/phrase-rules",
        _TAG,
        route="phrase_rules",
        example={"words": "golf club", "act": "categorise", "categories": ["other"]},
    ),
    command=CommandLine(positional=("campaign", "words"), text=rule_applied_text),
    page=FormPage(started=_("The phrases are being changed.")),
)
register(
    title=_("List reported problems"),
    result=reviewing.WorkerFlag,
    permission=_ON_CAMPAIGN,
    run=reviewing.list_flags,
    rest=Rest("GET", f"{_CAMPAIGN}/flags", _TAG),
)
register(
    title=_("List answers"),
    result=answer_list.ListedAnswer,
    permission=_ON_CAMPAIGN,
    run=answer_list.list_answers,
    rest=Rest("GET", f"{_CAMPAIGN}/answers", _TAG),
)
register(
    title=_("Accept or reject answers"),
    permission=_ON_CAMPAIGN,
    run=answer_reviews.review_answers,
    rest=Rest(
        "POST",
        f"{_CAMPAIGN}/answers/reviews",
        _TAG,
        own_transactions=True,
        example={"answers": [1], "decision": "rejected", "reason": "This is not in the picture."},
    ),
    command=CommandLine(text=reviewed_text),
    page=FormPage(done=reviewed_message),
)
register(
    name="resolve_flag",
    title=_("Mark a report as handled"),
    permission=_ON_CAMPAIGN,
    run=reviewing.mark_flag_handled,
    rest=Rest("POST", f"{_CAMPAIGN}/flags/<int:flag>/resolve", _TAG),
    page=FormPage(done=_("Report marked as handled.")),
)
