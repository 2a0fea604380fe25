"""Whether a draft can be opened: one line for each requirement of a campaign, and where to meet it."""

from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.campaigns.choosing import ENTITIES, gold_layer
from annotation.campaigns.drafts import fields
from annotation.campaigns.drafts.marks import strata_there
from annotation.campaigns.drafts.reading import DraftPlan, marked_kinds
from annotation.datasets.english import ENGLISH_ENOUGH, EnglishShare
from annotation.models import Caption, Control, Image
from annotation.protocol.kinds import ABOUT_IMAGE, MEASURED_ON_CONTROLS, kind_of
from annotation.task_types.base import TASK_TYPES

#: The state of a line: done, missing (prevents opening), or a note.
LINE_DONE: Final = "done"
LINE_MISSING: Final = "missing"
LINE_ADVICE: Final = "advice"

#: Number of images whose captions are checked for English, spread over all chosen ones.
_IMAGES_READ: Final = 300


@dataclass(frozen=True, slots=True)
class ReadinessLine:
    """A requirement of a campaign: its state, its text, and its step."""

    state: str
    title: str
    text: str
    step: str


def readiness(plan: DraftPlan) -> list[ReadinessLine]:
    """Return the lines of a draft, in the order of the steps."""
    return [
        *_of_corpus(plan),
        _faults(
            plan,
            fields.QUESTIONS_STEP,
            _("Questions"),
            _("The campaign asks %(what)s.") % {"what": _and(plan.kinds)},
        ),
        _of_pay(plan),
        *_of_test(plan),
        *_of_work(plan),
        _faults(plan, fields.VOTES_STEP, _("Votes and stop rules"), _stops(plan)),
    ]


def can_open(lines: list[ReadinessLine]) -> bool:
    """Whether nothing is missing."""
    return all(line.state != LINE_MISSING for line in lines)


def _faults(plan: DraftPlan, step: str, title: str, done: str) -> ReadinessLine:
    """Return a line that is done if its step has no error."""
    if problems := plan.problems_of(step):
        return ReadinessLine(LINE_MISSING, title, " ".join(dict.fromkeys(problems.values())), step)
    return ReadinessLine(LINE_DONE, title, done, step)


def _of_corpus(plan: DraftPlan) -> list[ReadinessLine]:
    step, title = fields.CORPUS_STEP, _("Corpus and name")
    problem = _faults(plan, step, title, "")
    if plan.corpus is None or problem.state == LINE_MISSING:
        return [problem]
    images = plan.chosen_images().count()
    if not images:
        return [ReadinessLine(LINE_MISSING, title, _("No image of the corpus is chosen."), step)]
    text = ngettext(
        "“%(name)s” asks about %(n)d image of %(corpus)s.",
        "“%(name)s” asks about %(n)d images of %(corpus)s.",
        images,
    ) % {"name": plan.name, "n": images, "corpus": plan.corpus.name}
    lines = [ReadinessLine(LINE_DONE, title, text, step)]
    if any(kind_of(kind).about != ABOUT_IMAGE for kind in plan.kinds):
        captions = Caption.objects.filter(image__in=plan.chosen_images().values("pk"))
        if not captions.exists():
            text = _("These images have no captions, and the questions are about captions.")
            lines.append(ReadinessLine(LINE_MISSING, _("Captions"), text, step))
        elif text := _not_english(plan):
            lines.append(ReadinessLine(LINE_ADVICE, _("Captions"), text, step))
    blank = Image.objects.filter(pk__in=plan.chosen_images().values("pk"), picture="").count()
    if blank:
        text = ngettext(
            "%(n)d image has no picture. Nobody is asked for boxes there.",
            "%(n)d images have no picture. Nobody is asked for boxes there.",
            blank,
        ) % {"n": blank}
        if plan.tasks != ENTITIES:
            text = ngettext(
                "%(n)d image has no picture: workers can only report it.",
                "%(n)d images have no picture: workers can only report them.",
                blank,
            ) % {"n": blank}
        lines.append(ReadinessLine(LINE_ADVICE, _("Pictures"), text, step))
    return lines


def _not_english(plan: DraftPlan) -> str:
    """Return the consequence of captions that are not English; "" if they are, or where phrases were
    imported or marked."""
    assert plan.corpus is not None
    if plan.tasks == ENTITIES and gold_layer(plan.corpus) is not None:
        return ""
    chosen = plan.chosen_images()
    if plan.tasks == ENTITIES:
        chosen = Image.objects.filter(pk__in=chosen.values("pk"), phrase_marks=None).order_by("position")
    ids = list(chosen.values_list("pk", flat=True))
    spread = ids[:: max(1, len(ids) // _IMAGES_READ)]
    looking = EnglishShare()
    looking.add(Caption.objects.filter(image__in=spread).values_list("text", flat=True))
    if looking.share >= ENGLISH_ENOUGH:
        return ""
    seen = _("Only %(percent)d %% of the captions read as English.") % {"percent": round(100 * looking.share)}
    if plan.tasks == ENTITIES:
        return f"{seen} " + _(
            "Phrases are found in English alone, so many will be missing or wrong: mark them by hand, or "
            "import the captions with their phrases."
        )
    return f"{seen} " + _("Choose workers who read their language: instructions are in English and German.")


def _of_pay(plan: DraftPlan) -> ReadinessLine:
    step, title = fields.PAY_STEP, _("Pay")
    problem = _faults(plan, step, title, _("Every answer earns something."))
    if problem.state != LINE_MISSING and plan.settings.pay.unpaid(plan.kinds):
        return ReadinessLine(LINE_ADVICE, title, _("Some answers earn nothing, as you confirmed."), step)
    return problem


def _of_test(plan: DraftPlan) -> list[ReadinessLine]:
    step, title = fields.TEST_STEP, _("Entry test")
    problem = _faults(plan, step, title, "")
    if problem.state == LINE_MISSING:
        return [problem]
    if plan.entry == fields.ENTRY_KNOWN:
        text = _("Made from “%(source)s” when the campaign opens.") % {"source": plan.known}
        return [ReadinessLine(LINE_DONE, title, text, step)]
    if plan.entry == fields.ENTRY_MARKED:
        return _of_marked_test(plan)
    sentences = [kind for kind in plan.kinds if kind_of(kind).test_sentences is not None]
    if plan.entry == fields.ENTRY_PRACTICE and sentences:
        text = _("The test of sentences that comes with %(kinds)s.") % {"kinds": _and(sentences)}
        return [ReadinessLine(LINE_DONE, title, text, step)]
    text = _("None: everybody begins at once.")
    if plan.entry == fields.ENTRY_PRACTICE:
        text = _("Practice, of which most must be right. It keeps nobody out who tries again.")
    return [ReadinessLine(LINE_ADVICE, title, text, step)]


def _of_marked_test(plan: DraftPlan) -> list[ReadinessLine]:
    """Return a line for each kind: whether its test is possible, and long enough."""
    lines, step, needed = [], fields.TEST_STEP, plan.settings.trust.verdict_known
    there = strata_there(plan)
    kinds = marked_kinds(plan.tasks)
    for kind in kinds:
        answers = there.get((kind, Control.QUALIFICATION))
        title = _("Test of %(kind)s") % {"kind": _name(kind)}
        if not answers:
            text = _("Nothing is marked: it begins with practice.")
            lines.append(ReadinessLine(LINE_ADVICE, title, text, step))
        elif len(answers) < 2:
            text = _("All marks have one answer, so nobody could begin. Mark one with another answer.")
            lines.append(ReadinessLine(LINE_MISSING, title, text, step))
        else:
            # Each answer occurs as often as any other, or once more.
            usable = min(needed, len(answers) * min(answers.values()) + len(answers) - 1, answers.total())
            text = _("%(n)d of %(wanted)d items.") % {"n": usable, "wanted": needed}
            lines.append(ReadinessLine(LINE_DONE if usable >= needed else LINE_ADVICE, title, text, step))
    if kinds and not any(there.get((kind, Control.QUALIFICATION)) for kind in kinds):
        text = _("Nothing is marked yet. Mark some pictures, or choose another way to begin.")
        return [ReadinessLine(LINE_MISSING, _("Entry test"), text, step)]
    return lines


def _of_work(plan: DraftPlan) -> list[ReadinessLine]:
    """Return the line about measuring accuracy during the work."""
    kinds = [kind for kind in plan.kinds if kind_of(kind).measured_on == MEASURED_ON_CONTROLS]
    if not kinds:
        return []
    title, step = _("Control items in the work"), fields.TEST_STEP
    if plan.entry == fields.ENTRY_KNOWN:
        text = _("Made from “%(source)s” when the campaign opens.") % {"source": plan.known}
        return [ReadinessLine(LINE_DONE, title, text, step)]
    there = strata_there(plan)
    lacking = [kind for kind in kinds if not there.get((kind, Control.CONTROL))]
    if not lacking:
        return [ReadinessLine(LINE_DONE, title, _("Each question has some."), step)]
    text = _(
        "None for %(kinds)s: accuracy is not measured there, and more answers are asked twice. Mix "
        "some into the work, or add them later."
    ) % {"kinds": _and(lacking)}
    return [ReadinessLine(LINE_ADVICE, title, text, step)]


def _stops(plan: DraftPlan) -> str:
    stop = plan.settings.stop
    if stop.budget is None and stop.until is None and stop.images is None:
        return _("No stop rule: it ends when everything is answered. It takes %(n)d workers at least.") % {
            "n": plan.crowd_size().least
        }
    return _("The campaign pauses when a stop rule is met.")


def _name(kind: str) -> str:
    return str(TASK_TYPES.get(kind).name) if kind in TASK_TYPES else kind


def _and(kinds: tuple[str, ...] | list[str]) -> str:
    return ", ".join(map(_name, kinds))
