"""An image's captions word by word: somebody marks which words are phrases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.campaigns.phrases import BY_HAND, CannotMark, drop_marks, mark_phrases, phrases_of
from annotation.common.roles import RESEARCHER
from annotation.models import Caption, Corpus, PhraseMarks
from annotation.protocol.terms import Mention, Span
from annotation.selectors import browse
from annotation.selectors.browse import Filter
from annotation.web.common.access import CORPUS_OF_ADDRESS, account_of, for_roles_on
from annotation.web.common.palette import hue
from annotation.web.corpus.browse import image_in, size_of
from annotation.web.corpus.inspection import inspect
from annotation.web.staff.frame import said

#: A phrase in the form: caption, first word, word after the last, as mentions are named.
_SPAN = re.compile(r"([0-9]{1,5}):([0-9]{1,5})-([0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class ShownWord:
    """A word of a caption; in a phrase with the number of its colour (0: in none), at either end of it."""

    text: str
    hue: int = 0
    starts: bool = False
    ends: bool = False


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles_on(CORPUS_OF_ADDRESS, RESEARCHER)
def image_phrases(request: HttpRequest, corpus: Corpus, key: str) -> HttpResponse:
    """Show the phrases of an image; POST keeps those that the form names, or goes back to those that are
    found."""
    image = image_in(corpus, key)
    before, after = browse.neighbours(image, None, Filter())
    if request.method == "POST":
        act, then = request.POST.get("act", ""), image
        with said(request, CannotMark) as tell:
            if act == "reset":
                drop_marks(image=image, actor=account_of(request))
                tell(_("These are the phrases that are found in the captions."))
            else:
                spans = _spans(request.POST.get("phrases", ""))
                mark_phrases(image=image, spans=spans, actor=account_of(request))
                tell(_("Phrases of %(image)s saved.") % {"image": image.key})
                then = after if act == "next" and after is not None else image
        return redirect("phrases", corpus.name, then.key)
    captions, found = browse.captions_shown(image), phrases_of(image)
    about = {
        "corpus": corpus,
        "image": image,
        "before": before,
        "after": after,
        "phrases": " ".join(mention.id for mention in found.mentions),
        "captions": list(_words(captions, found.mentions)),
        "by_hand": found.source == BY_HAND,
        "kept": found.kept,
        "marked": PhraseMarks.objects.filter(image__corpus=corpus).count(),
        "seen": inspect(image, captions, None, size=size_of(image), lit=0),
    }
    return render(request, "annotation/phrases.html", about)


def _spans(text: str) -> Iterator[Span]:
    """The phrases of the form's field; raises CannotMark for what is none."""
    for word in text.split():
        found = _SPAN.fullmatch(word)
        if found is None:
            raise CannotMark(_("Expected phrases such as 0:0-2, not %(text)s.") % {"text": word[:40]})
        caption, start, end = map(int, found.groups())
        yield caption, start, end


def _words(captions: Sequence[Caption], mentions: Iterable[Mention]) -> Iterator[list[ShownWord]]:
    """The words of each caption, in turn."""
    of: dict[int, list[Mention]] = {}
    for mention in mentions:
        of.setdefault(mention.caption, []).append(mention)
    for number, caption in enumerate(captions):
        words = [ShownWord(text) for text in caption.words]
        for place, mention in enumerate(of.get(number, ()), 1):
            for at in range(mention.start, mention.end):
                words[at] = ShownWord(words[at].text, hue(place), at == mention.start, at == mention.end - 1)
        yield words
