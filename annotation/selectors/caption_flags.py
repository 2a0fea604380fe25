"""The flags of written captions: of some captions, and counted by worker."""

from collections.abc import Collection

from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import AuditEntry, Campaign, CaptionFlag, Judgment, TrustState
from annotation.protocol.caption_flags import FlagReason
from annotation.protocol.kinds import kind_of

#: The number of flagged captions, and their share of a worker's, from which on a researcher should look: the
#: share is ten times that of honest writers (studies/RESULTS.md).
TELLING_FLAGS, TELLING_FLAGS_SHARE = 10, 0.2
#: The ids of captions that people wrote here, in a corpus of them.
WRITTEN_CAPTION = r"^w[0-9]{1,9}-[0-9]{1,9}$"
#: Labels of the reasons.
FLAG_LABELS = {
    FlagReason.REPEATED: gettext_lazy("repeated"),
    FlagReason.COPIED: gettext_lazy("copied"),
    FlagReason.GENERAL: gettext_lazy("fits any image"),
    FlagReason.OFF_TOPIC: gettext_lazy("unlike the image's other captions"),
    FlagReason.LENGTH: gettext_lazy("unusual length"),
    FlagReason.SPELLING: gettext_lazy("misspelt"),
    FlagReason.FAST: gettext_lazy("written too fast"),
    FlagReason.PASTED: gettext_lazy("pasted"),
    FlagReason.CHECKED: gettext_lazy("a second person saw a fault"),
}


def flag_text(flag: CaptionFlag) -> str:
    """Return a flag's value against its threshold, in a phrase."""
    numbers = {"value": flag.value, "threshold": flag.threshold}
    match flag.reason:
        case FlagReason.REPEATED | FlagReason.COPIED:
            return _("likeness %(value).2f, flagged from %(threshold).2f") % numbers
        case FlagReason.GENERAL:
            percent = {name: 100 * number for name, number in numbers.items()}
            return _("fits %(value).1f %% of the images, flagged above %(threshold).1f %%") % percent
        case FlagReason.OFF_TOPIC:
            return _("agreement %(value).2f, flagged below %(threshold).2f") % numbers
        case FlagReason.PASTED:
            percent = {name: 100 * number for name, number in numbers.items()}
            return _("%(value).0f %% pasted, flagged from %(threshold).0f %%") % percent
        case FlagReason.CHECKED:
            percent = {name: 100 * number for name, number in numbers.items()}
            return _("%(value).0f %% of its checks, flagged from %(threshold).0f %%") % percent
        case FlagReason.LENGTH:
            return _("%(value)d words, limit %(threshold)d") % numbers
        case FlagReason.SPELLING:
            return _("%(value)d unknown words, flagged from %(threshold)d") % numbers
        case _reason:
            return _("%(value).0f characters a second, flagged above %(threshold).0f") % numbers


def flagged_captions(campaign: Campaign, workers: Collection[int] | None = None) -> dict[int, int]:
    """Return the number of flagged captions by worker, of all workers or of these; those without are
    missing."""
    rows = CaptionFlag.objects.filter(campaign=campaign)
    if workers is not None:
        rows = rows.filter(judgment__worker__in=workers)
    counted = rows.values("judgment__worker").annotate(n=Count("judgment", distinct=True)).order_by()
    return dict(counted.values_list("judgment__worker", "n"))


def flags_by_reason(campaign: Campaign, worker: int) -> list[tuple[str, int]]:
    """Return the labels of the flags of a worker's captions, and how many captions have each."""
    rows = CaptionFlag.objects.filter(campaign=campaign, judgment__worker=worker)
    counted = dict(rows.values("reason").annotate(n=Count("pk")).order_by().values_list("reason", "n"))
    return [(str(label), counted[reason]) for reason, label in FLAG_LABELS.items() if reason in counted]


def workers_with_many_flags(campaign: Campaign) -> list[int]:
    """Return the workers who may still write and of whose captions enough are flagged."""
    kinds = caption_kinds(campaign)
    many = {
        worker: number
        for worker, number in (flagged_captions(campaign) if kinds else {}).items()
        if number >= TELLING_FLAGS
    }
    if not many:
        return []
    at_work = TrustState.objects.filter(
        campaign=campaign, worker__in=many, kind__in=kinds, blocked=False, withdrawn_at=None
    )
    written = captions_written(campaign).filter(worker__in=at_work.values("worker"))
    counted = written.values("worker").annotate(n=Count("pk")).order_by("worker")
    return [
        worker
        for worker, number in counted.values_list("worker", "n")
        if many[worker] >= TELLING_FLAGS_SHARE * number
    ]


def corpora_of_captions(campaign: Campaign) -> set[str]:
    """Return the names of the corpora into which a campaign's captions were published, with those of later
    rounds, which begin with them."""
    names: set[str] = set()
    lines = AuditEntry.objects.filter(act="publish_captions", campaign__isnull=False).order_by("pk")
    for line in lines.select_related("campaign__corpus"):
        assert line.campaign is not None
        if line.campaign == campaign or line.campaign.corpus.name in names:
            names.add(line.about["corpus"])
    return names


def writers_of_captions(corpus: str) -> dict[tuple[str, str], int]:
    """Return the workers who wrote the captions of a corpus, by the image's key and the text, as far as their
    campaigns are stored."""
    lines = AuditEntry.objects.filter(act="publish_captions", campaign__isnull=False)
    writers: dict[tuple[str, str], int] = {}
    for campaign in Campaign.objects.filter(pk__in=lines.values("campaign")):
        if corpus in corpora_of_captions(campaign):
            columns = ("image__image__key", "content__text", "review__text", "worker")
            for key, text, corrected, worker in captions_written(campaign).values_list(*columns):
                writers[key, corrected or text] = worker
    return writers


def caption_kinds(campaign: Campaign) -> list[str]:
    """Return the kinds of question by which a campaign's workers write captions."""
    return [kind for kind in campaign.kinds if kind_of(kind).writes_captions]


def captions_written(campaign: Campaign) -> QuerySet[Judgment]:
    """Return the captions of a campaign that are not withdrawn."""
    return Judgment.objects.filter(
        campaign=campaign,
        kind__in=caption_kinds(campaign),
        image__isnull=False,
        flag="",
        withdrawn=False,
    )
