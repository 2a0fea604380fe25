"""A campaign's texts for its workers, in versions, and the workers' consents.

Texts belong to a kind of question, or are the consent text. The default text is the built-in one, as version
0: `instructions.txt` in the kind's folder (`annotation.task_types.discovery`), and `texts/consent.txt`.
Opening a campaign freezes those as version 1. A version is never changed: a new text is a new version, and
judgments have the one they were given under.

A text consists of paragraphs separated by blank lines, without markup. A paragraph that begins with "Good: "
is an example of a good answer, one that begins with "Bad: " of a mistake.

`instructions.LANGUAGE.txt` is the translation of `instructions.txt`, likewise `texts/consent.LANGUAGE.txt`,
and belongs to the same version, to which a judgment or a consent refers. So it is shown only if a campaign's
text is exactly the built-in one; a researcher's text is shown unchanged.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from django.db.models import Q
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.models import Account, Campaign, Consent, Instructions
from annotation.protocol import kinds
from annotation.protocol.campaign_settings import CampaignError
from annotation.quality.controls.authoring import raise_revision
from annotation.task_types import discovery

CONSENT = Instructions.CONSENT
_GOOD, _BAD, _UNRATED = "good", "bad", ""
LONGEST_INSTRUCTIONS = 20_000
_EXAMPLES = {"Good: ": _GOOD, "Bad: ": _BAD}
_TEXTS = Path(__file__).parent / "texts"


class StaleText(ValueError):
    """The text was changed since it was shown: it must be read again."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of a text: an example ("good" or "bad"), or plain ("")."""

    sort: str
    text: str


@dataclass(frozen=True, slots=True)
class CampaignText:
    """One version of a text; version 0 is the built-in one."""

    kind: str
    version: int
    text: str

    @property
    def paragraphs(self) -> tuple[Paragraph, ...]:
        """The text split at blank lines, each paragraph with its kind."""
        return tuple(_paragraph(part) for part in _parts(self.text))


def known_texts() -> tuple[str, ...]:
    """Return the possible texts: the consent, and every kind of question."""
    return (CONSENT, *kinds.names())


def built_in_text(kind: str) -> CampaignText:
    """Return the default text of a kind."""
    return CampaignText(kind, 0, _built_in(_known(kind)))


def is_built_in_text(text: CampaignText, language: str | None) -> bool:
    """Whether this is a built-in text, in English or `language`: another text might differ in meaning."""
    return text.text in {_built_in(text.kind), language and _translated(text.kind, language)}


def current_text(*, campaign: Campaign, kind: str) -> CampaignText:
    """Return the newest text of a kind."""
    row = _newest(campaign, kind)
    return CampaignText(kind, row.version, row.text) if row is not None else built_in_text(kind)


def text_in_language(text: CampaignText, language: str | None) -> CampaignText:
    """Return `text` in a language ("de"), under its own version; unchanged if there is no translation."""
    translated = _translated(text.kind, language) if language and text.text == _built_in(text.kind) else ""
    return replace(text, text=translated) if translated else text


def publish_text(
    *, campaign: Campaign, kind: str, text: str, seen: int | None = None, actor: Account | None = None
) -> CampaignText:
    """Make `text` the newest version; if it is unchanged, do nothing.

    Everybody must agree again to a new consent text; nobody to an empty one. `seen` is the version that was
    read before: raises StaleText if there is a newer one. Raises CampaignError for an unknown kind, empty
    instructions, or a text that is too long.
    """
    _known(kind)
    text = "\n\n".join(_parts(text))
    if not text and kind != CONSENT:
        raise CampaignError(f"the instructions of {kind} are empty; write what workers are to do")
    if len(text) > LONGEST_INSTRUCTIONS:
        raise CampaignError(f"the text has {len(text)} characters; expected at most {LONGEST_INSTRUCTIONS}")
    with database.writing():
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        newest = _newest(campaign, kind)
        if seen is not None and seen != (newest.version if newest is not None else 0):
            raise StaleText(
                _("Somebody has published another version in the meantime: read it, then publish yours.")
            )
        if newest is None or newest.text != text:
            version = newest.version + 1 if newest is not None else 1
            newest = _write(campaign, kind, version, text, actor)
            raise_revision(campaign)
            record(actor=actor, act="set_instructions", campaign=campaign, kind=kind, version=version)
    return CampaignText(kind, newest.version, newest.text)


def install_texts(campaign: Campaign, kinds: Iterable[str] | None = None) -> None:
    """Freeze the built-in texts of kinds that have none, as version 1. Call within the act's transaction.

    `kinds`: by default all kinds of the campaign, and its consent text.
    """
    kinds = (CONSENT, *campaign.kinds) if kinds is None else kinds
    there = set(Instructions.objects.filter(campaign=campaign).values_list("kind", flat=True))
    for kind in kinds:
        if kind not in there:
            _write(campaign, kind, 1, _built_in(kind), None)


def needs_consent(*, worker: int, campaign: Campaign) -> bool:
    """Whether this worker (the id) must agree to the newest consent text before working on."""
    return campaign.pk in consents_needed(worker=worker, campaigns=[campaign.pk])


def consents_needed(*, worker: int, campaigns: Collection[int]) -> frozenset[int]:
    """Return those of these campaigns (ids) to whose newest consent text this worker (the id) must agree
    before working on; two queries."""
    texts = Instructions.objects.filter(campaign__in=campaigns, kind=CONSENT).order_by("campaign", "version")
    rows = texts.annotate(says=~Q(text="")).values_list("campaign", "pk", "says")
    newest = {campaign: (text, says) for campaign, text, says in rows}
    waiting = {text: campaign for campaign, (text, says) in newest.items() if says}
    if waiting:
        agreed = Consent.objects.filter(worker=worker, text__in=waiting).values_list("text", flat=True)
        for text in agreed:
            del waiting[text]
    silent = set(campaigns) - set(newest) if _built_in(CONSENT) else set()
    return frozenset(waiting.values()) | silent


def record_consent(*, worker: int, campaign: Campaign, version: int) -> None:
    """Record that this worker (the id) agrees to the shown version of the consent text.

    Raises StaleText if there is a newer one.
    """
    with database.writing():
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        newest = _newest(campaign, CONSENT)
        if (newest.version if newest is not None else 0) != version:
            raise StaleText(_("The text has changed in the meantime: read it again, then agree."))
        if newest is None:
            install_texts(campaign, [CONSENT])
            newest = _newest(campaign, CONSENT)
        Consent.objects.get_or_create(worker_id=worker, text=newest)


def text_versions(*, campaign: Campaign, kind: str) -> list[Instructions]:
    """Return all versions of a text, newest first."""
    rows = Instructions.objects.filter(campaign=campaign, kind=_known(kind))
    return list(rows.order_by("-version").select_related("created_by"))


def _newest(campaign: Campaign, kind: str) -> Instructions | None:
    return Instructions.objects.filter(campaign=campaign, kind=kind).order_by("-version").first()


def _write(campaign: Campaign, kind: str, version: int, text: str, actor: Account | None) -> Instructions:
    return Instructions.objects.create(
        campaign=campaign, kind=kind, version=version, text=text, created_by=actor
    )


def _known(kind: str) -> str:
    if kind not in known_texts():
        raise CampaignError(f"there are no instructions of {kind!r}; known: {', '.join(known_texts())}")
    return kind


@cache
def _built_in(kind: str) -> str:
    path = _file(kind)
    if path is None:
        raise CampaignError(f"there are no instructions of {kind!r}: its folder has no instructions.txt")
    return _read(path)


@cache
def _translated(kind: str, language: str) -> str:
    path = _file(kind, language)
    return _read(path) if path is not None else ""


def _read(path: Path) -> str:
    return "\n\n".join(_parts(path.read_text(encoding="utf-8")))


def _file(kind: str, language: str = "") -> Path | None:
    """Return the file of a built-in text, in English or in a language ("de"); None if there is none."""
    if kind == CONSENT:
        path = _TEXTS / (f"{CONSENT}.{language}.txt" if language else f"{CONSENT}.txt")
    else:
        folder = discovery.kind_folder(kind)
        if folder is None:
            return None
        path = folder / discovery.instructions_file(language)
    return path if path.is_file() else None


def _parts(text: str) -> list[str]:
    """Return paragraphs, their lines joined."""
    blocks = "\n".join(line.strip() for line in text.splitlines()).split("\n\n")
    return [" ".join(block.split()) for block in blocks if block.strip()]


def _paragraph(part: str) -> Paragraph:
    for begin, sort in _EXAMPLES.items():
        if part.startswith(begin):
            return Paragraph(sort, part[len(begin) :])
    return Paragraph(_UNRATED, part)
