"""Reading a draft: the values of its steps, and errors by field."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.campaigns.choosing import ENTITIES, GOLD_LAYERS, covered, gold_layer
from annotation.campaigns.drafts import fields
from annotation.campaigns.drafts.answer_times import AnswerTime, answer_times_of
from annotation.campaigns.setting_fields import ITEM_PAY
from annotation.common.roles import RESEARCHER
from annotation.datasets.layer_rows import LayerError, check_layer_name
from annotation.models import Campaign, CampaignDraft, Corpus, Image
from annotation.protocol.campaign_settings import CampaignSettings
from annotation.protocol.kinds import Kind, all_tasks, kind_of, kinds_of_tasks, only_kind
from annotation.protocol.rehearsal import CrowdSize, crowd_size
from annotation.protocol.work import PER_ITEM as BY_ANSWER
from annotation.selectors.corpora import CAMPAIGNS, CORPORA, split_names
from annotation.selectors.tags.queries import BadTagQuery
from annotation.selectors.tags.samples import draw_by_tags
from phrasebox.registry import UnknownName

#: The suggested hourly pay, in the currency of the campaign.
SUGGESTED_HOURLY = 12.0
#: Number of images of a pilot.
PILOT_IMAGES = 20


@dataclass(frozen=True, slots=True)
class DraftPlan:
    """The content of a draft. `corpus` is None if it was deleted, or is no longer visible to the owner;
    the same holds for `like`, the campaign whose texts and items are copied.

    `known` names the layer, or the split, for the test. `problems`: errors by field. `answer_times`: how long
    answers take, by kind.
    """

    draft: CampaignDraft
    corpus: Corpus | None
    like: Campaign | None
    name: str
    tasks: str
    settings: CampaignSettings
    split: str | None
    images: int | None
    tags: tuple[str, ...]
    entry: str
    known: str
    unpaid: bool
    pilot: bool
    open_to_all: bool
    problems: Mapping[str, str]
    answer_times: Mapping[str, AnswerTime]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of questions of the campaign."""
        return kinds_of_tasks(self.tasks)

    def unsaved(self) -> Campaign:
        """The future campaign, unsaved, for previews and checks."""
        return Campaign(
            name=self.name or "-", corpus=self.corpus, tasks=self.tasks, settings=self.settings.as_dict()
        )

    def crowd_size(self) -> CrowdSize:
        """The number of workers that the campaign needs."""
        pictured = Image.objects.filter(pk__in=self.chosen_images().values("pk")).exclude(picture="").exists()
        return crowd_size(self.kinds, self.settings, pictured=pictured)

    def chosen_images(self) -> QuerySet[Image]:
        """All images that the campaign will ask about, in order, without those that gold does not cover, if
        there is gold for its questions."""
        images = Image.objects.filter(corpus=self.corpus).order_by("position")
        if self.corpus is None or "tags" in self.problems or "split" in self.problems:
            return images if self.corpus is not None else images.none()
        if self.tags:
            sample = draw_by_tags(
                self.corpus, self.tags, seed=Campaign().seed, number=self.images, split=self.split
            )
            return covered(self.unsaved(), images.filter(pk__in=sample.images))
        if self.split is not None:
            images = images.filter(split=self.split)
        return covered(self.unsaved(), images)[: self.images]

    def problems_of(self, step: str) -> dict[str, str]:
        """Return the errors of one step."""
        names = fields.fields_of_step(step, self.tasks)
        problems = {name: text for name, text in self.problems.items() if name in names}
        if step == fields.CORPUS_STEP and "corpus" in self.problems:
            problems["corpus"] = self.problems["corpus"]
        if step == fields.VOTES_STEP and "settings" in self.problems:
            problems["settings"] = self.problems["settings"]
        return problems


def read_draft(draft: CampaignDraft) -> DraftPlan:
    """Read a draft with all its errors; never fails."""
    typed: Mapping[str, str] = draft.fields
    problems: dict[str, str] = {}
    corpus = _corpus(draft)
    if corpus is None:
        problems["corpus"] = _("This corpus is not there any more, or not open to you: choose another one.")
    tasks = typed.get("tasks") or _usual_tasks()
    if tasks not in all_tasks():
        problems["tasks"] = _("Choose what the campaign asks.")
        tasks = _usual_tasks()
    name = typed.get("name", "").strip()
    if problem := _name_problem(name):
        problems["name"] = problem
    split, images, tags = _which_images(typed, corpus, problems)
    known = typed.get("known", "") or next(iter(known_sources(corpus, tasks, split)), "")
    entry = typed.get("entry") or _usual_entry(corpus, tasks, known)
    if entry not in fields.ENTRIES:
        problems["entry"] = _("Choose how workers begin.")
        entry = fields.ENTRY_PRACTICE
    if entry == fields.ENTRY_KNOWN and known not in known_sources(corpus, tasks, split):
        problems["known"] = _("Choose where the answers are known from.")
    kinds = kinds_of_tasks(tasks)
    owner = draft.owner if draft.owner_id else None  # a command has none
    answer_times = answer_times_of(owner, kinds)
    read = fields.read_typed_settings(
        tasks,
        draft.settings,
        typed,
        tested=entry != fields.ENTRY_NONE,
        suggested={} if draft.settings else suggested_pay(answer_times),
    )
    problems |= read.problems
    unpaid = typed.get("unpaid") == "yes"
    if not unpaid and read.settings.pay.unpaid(kinds):
        problems.setdefault(
            "unpaid", _("Some answers would earn nothing. Set their pay, or confirm that this is intended.")
        )
    return DraftPlan(
        draft=draft,
        corpus=corpus,
        like=CAMPAIGNS.rows(owner, RESEARCHER).filter(pk=draft.like_id).first() if draft.like_id else None,
        name=name,
        tasks=tasks,
        settings=read.settings,
        split=split,
        images=images,
        tags=tags,
        entry=entry,
        known=known,
        unpaid=unpaid,
        pilot=typed.get("pilot", "yes") == "yes",
        open_to_all=typed.get("open_to_all") == "yes",
        problems=problems,
        answer_times=answer_times,
    )


def suggested_pay(answer_times: Mapping[str, AnswerTime]) -> dict[str, Any]:
    """Return the pay per answer, by field, at which an hour earns SUGGESTED_HOURLY, rounded up to a
    hundredth."""
    suggested: dict[str, Any] = {"pay.basis": BY_ANSWER, "pay.hourly": SUGGESTED_HOURLY}
    for kind, time in answer_times.items():
        suggested[f"{ITEM_PAY}{kind}"] = ceil(SUGGESTED_HOURLY * time.seconds / 36 - 1e-9) / 100
    return suggested


def known_sources(corpus: Corpus | None, tasks: str, split: str | None) -> list[str]:
    """Return the possible sources of a test: gold layers, or splits that are not asked about."""
    if corpus is None:
        return []
    kind = only_kind(tasks)
    if tasks == ENTITIES:
        layers = corpus.layers.filter(published=True).values_list("name", flat=True)
        return sorted(layers, key=lambda name: (name not in GOLD_LAYERS, name))
    if kind is not None and asked_from_captions(kind) and split is not None:
        return [name for name in split_names(corpus) if name != split]
    return []


def asked_from_captions(kind: Kind) -> bool:
    """Whether control items of a kind are made from an image's own captions."""
    return kind.pair_known is not None or bool(kind.most_true)


def _usual_tasks() -> str:
    return ENTITIES if ENTITIES in all_tasks() else all_tasks()[0]


def _usual_entry(corpus: Corpus | None, tasks: str, known: str) -> str:
    """Return the default entry: a test where gold exists, else practice."""
    if corpus is None or not known:
        return fields.ENTRY_PRACTICE
    if tasks == ENTITIES and gold_layer(corpus) is None:
        return fields.ENTRY_PRACTICE
    return fields.ENTRY_KNOWN


def marked_kinds(tasks: str) -> tuple[str, ...]:
    """Return the kinds of these tasks whose test can be marked by hand: those with a test, without sentences
    of their own."""
    return tuple(
        key
        for key in kinds_of_tasks(tasks)
        if (kind := kind_of(key)).tested and kind.grader is not None and kind.test_sentences is None
    )


def _corpus(draft: CampaignDraft) -> Corpus | None:
    open_to_them = CORPORA.rows(draft.owner if draft.owner_id else None, RESEARCHER)
    return open_to_them.filter(pk=draft.corpus_id).first() if draft.corpus_id else None


def _name_problem(name: str) -> str:
    """Return the error of a campaign's name, "" for none."""
    if not name:
        return _("Give the campaign a name.")
    try:
        check_layer_name(name)
    except (LayerError, ValueError) as error:
        return str(error)
    if name in GOLD_LAYERS:
        return _("A campaign called “%(name)s” would be taken for the corpus's own layer.") % {"name": name}
    if Campaign.objects.filter(name=name).exists():
        return _("There is a campaign “%(name)s” already: choose another name.") % {"name": name}
    return ""


def _which_images(
    typed: Mapping[str, str], corpus: Corpus | None, problems: dict[str, str]
) -> tuple[str | None, int | None, tuple[str, ...]]:
    """Return split, number and tags; their errors are added to `problems`."""
    split = typed.get("split", "").strip() or None
    if corpus is not None and split is not None and split not in split_names(corpus):
        problems["split"] = _("The corpus has no split “%(name)s”.") % {"name": split[:60]}
        split = None
    text = typed.get("images", "").strip()
    images = int(text) if text.isascii() and text.isdigit() and len(text) < 10 and int(text) else None
    if text and images is None:
        problems["images"] = _("“%(given)s” is not a number of images.") % {"given": text[:60]}
    tags = tuple(line.strip() for line in typed.get("tags", "").splitlines() if line.strip())
    if tags and corpus is not None:
        try:
            draw_by_tags(corpus, tags, seed=0, number=1, split=split)
        except (BadTagQuery, UnknownName) as error:
            problems["tags"] = str(error)
            tags = ()
    return split, images, tags
