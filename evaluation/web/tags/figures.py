"""Filters that format figures on pages."""

import re

from django import template
from django.utils.formats import localize, number_format
from django.utils.translation import gettext, gettext_lazy

from evaluation.comparison.comparisons import DECIMALS_BY_MEASURE
from evaluation.models import Run

register = template.Library()

#: What figures average over (`FigureBasis.cases`), as pages name it.
CASES = {
    "judged queries": gettext_lazy("Judged queries"),
    "answers": gettext_lazy("Answers"),
    "captions": gettext_lazy("Captions"),
    "images": gettext_lazy("Images"),
    "mentions": gettext_lazy("Mentions"),
    "pairs": gettext_lazy("Pairs"),
    "phrases": gettext_lazy("Phrases"),
    "queries": gettext_lazy("Queries"),
    "regions": gettext_lazy("Regions"),
    "systems": gettext_lazy("Systems"),
}
#: Parts of the sentences of `comparison.provenance` -> the same for pages, translated.
SEEN = {
    r"Not known which images it learned from\.": gettext_lazy("Not known which images it learned from."),
    r"Not known which images the features (?P<name>'[^']*'(?: of '[^']*')?) learned from\.": gettext_lazy(
        "Not known which images the features %(name)s learned from."
    ),
    r"Learned from none of these (?P<images>[\d,]+) images, and chose no settings on them\.": gettext_lazy(
        "Learned from none of these %(images)s images, and chose no settings on them."
    ),
    r"Learned from (?P<learned>[\d,]+) of these (?P<images>[\d,]+) images, and chose settings on "
    r"(?P<validated>[\d,]+) of them": gettext_lazy(
        "Learned from %(learned)s of these %(images)s images, and chose settings on %(validated)s of them"
    ),
    r"(?P<number>[\d,]+) by name alone: the pictures differ": gettext_lazy(
        "%(number)s by name alone: the pictures differ"
    ),
    r"Declared, not checked: it was trained on": gettext_lazy("Declared, not checked: it was trained on"),
    r"Declared, not checked: the features (?P<name>'[^']*'(?: of '[^']*')?) were trained on": gettext_lazy(
        "Declared, not checked: the features %(name)s were trained on"
    ),
    r"Not known whether the (?:images|regions|captions) of (?P<given>'[^']*') are described as those of "
    r"(?P<learned>'[^']*'), which it learned from\.": gettext_lazy(
        "Not known whether %(given)s describes as %(learned)s does, which it learned from."
    ),
    r"Its visual words come from all pictures of its corpus, without their captions\.": gettext_lazy(
        "Its visual words come from all pictures of its corpus, without their captions."
    ),
    r"That system (?P<name>'[^']*') made it is what its file says\.": gettext_lazy(
        "That system %(name)s made it is what its file says."
    ),
}


@register.filter
def figure(value: float | None, measure: str = "") -> str:
    """Format a figure with the decimal places of its measure; a dash for one that does not exist."""
    return "–" if value is None else f"{value:.{DECIMALS_BY_MEASURE.get(measure, 3)}f}"


@register.filter
def cases(name: str) -> str:
    """Return what figures average over, in the reader's language."""
    return str(CASES.get(name, name.capitalize()))


@register.filter
def seen_in_words(sentence: str) -> str:
    """Translate what a system has seen (`comparison.provenance`), which is stored in English, into the
    reader's language."""
    for pattern, text in SEEN.items():
        if match := re.search(pattern, sentence):
            sentence = sentence.replace(match[0], str(text) % _localized(match.groupdict("")))
    return sentence


def _localized(parts: dict[str, str]) -> dict[str, str]:
    """Format whole numbers for the reader's language."""
    return {
        name: number_format(int(digits), force_grouping=True)
        if (digits := text.replace(",", "")).isdigit()
        else text
        for name, text in parts.items()
    }


@register.filter
def level(share: float) -> str:
    """Format a confidence level in per cent, such as 95 or 99.9."""
    percent = float(f"{100 * share:.6g}")
    return str(localize(int(percent) if percent.is_integer() else percent))


@register.filter
def images(run: Run) -> str:
    """Return the images of a run for a table: a split, a fold, the name of the file that lists them, all; or
    "", where it was made elsewhere and they are unknown."""
    if not run.split:
        return gettext("all images") if run.system_digest else ""
    return run.split.rsplit("/", 1)[-1] if run.split.startswith("/") else run.split


@register.filter
def subset_in_words(called: str) -> str:
    """Translate the name of a subset of images, stored in English, into the reader's language; "" for all."""
    if called.endswith(", as localized"):
        return gettext("%(images)s, as localized") % {
            "images": subset_in_words(called.removesuffix(", as localized"))
        }
    if called.endswith(", as tagged"):
        return gettext("%(images)s, as tagged") % {
            "images": subset_in_words(called.removesuffix(", as tagged"))
        }
    if called.startswith("images in "):
        return gettext("images in %(file)s") % {"file": called.removeprefix("images in ")}
    if called.startswith("images of run "):
        return gettext("images of run %(name)s") % {"name": called.removeprefix("images of run ")}
    if called.startswith("split "):
        return gettext("split %(name)s") % {"name": called.removeprefix("split ")}
    if match := re.fullmatch(r"fold (\S+) \(seed (\d+)\)", called):
        return gettext("fold %(fold)s (seed %(seed)s)") % {"fold": match[1], "seed": match[2]}
    if called.startswith("fold "):
        return gettext("fold %(fold)s") % {"fold": called.removeprefix("fold ")}
    return called
