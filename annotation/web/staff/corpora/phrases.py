"""An image's captions word by word, to mark phrases by hand."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.campaigns.phrases import BY_HAND, phrases_of
from annotation.common.roles import RESEARCHER
from annotation.models import Corpus, PhraseMarks
from annotation.protocol.terms import Mention
from annotation.selectors import browse
from annotation.selectors.browse import Filter
from annotation.web.common.access import CORPUS_OF_ADDRESS, for_roles_on
from annotation.web.common.overlay import hue
from annotation.web.corpus.browse import image_in, size_of
from annotation.web.corpus.inspection import inspect


@dataclass(frozen=True, slots=True)
class WordView:
    """A word of a caption; in a phrase, the number of its colour (0: in none), and whether it is at either
    end of it."""

    text: str
    hue: int = 0
    starts: bool = False
    ends: bool = False


@require_safe
@for_roles_on(CORPUS_OF_ADDRESS, RESEARCHER)
def image_phrases(request: HttpRequest, corpus: Corpus, key: str) -> HttpResponse:
    """Show the phrases of an image; the form marks others, or restores the automatic ones."""
    image = image_in(corpus, key)
    before, after = browse.neighbours(image, None, Filter())
    captions, phrases = browse.captions_by_number(image), phrases_of(image)
    about = {
        "corpus": corpus,
        "image": image,
        "before": before,
        "after": after,
        "phrases": " ".join(mention.id for mention in phrases.mentions),
        "captions": list(words_to_mark([c.words for c in captions], phrases.mentions)),
        "by_hand": phrases.source == BY_HAND,
        "blocked": phrases.blocked,
        "marked": PhraseMarks.objects.filter(image__corpus=corpus).count(),
        "seen": inspect(image, captions, None, size=size_of(image), lit=0),
    }
    return render(request, "annotation/phrases.html", about)


def words_to_mark(captions: Sequence[Sequence[str]], mentions: Iterable[Mention]) -> Iterator[list[WordView]]:
    """Yield the words of each caption for the page."""
    of: dict[int, list[Mention]] = {}
    for mention in mentions:
        of.setdefault(mention.caption, []).append(mention)
    for number, caption in enumerate(captions):
        words = [WordView(text) for text in caption]
        for number_of_mention, mention in enumerate(of.get(number, ()), 1):
            for at in range(mention.start, mention.end):
                words[at] = WordView(
                    words[at].text, hue(number_of_mention), at == mention.start, at == mention.end - 1
                )
        yield words
