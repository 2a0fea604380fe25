"""The phrases of an image by API: which a campaign would ask about, and marking them by hand."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.api.rest.doors import On
from annotation.api.rest.fields import CallFields, WholeField
from annotation.api.rest.operations import DELETE, GET, POST, ApiCall, ApiRoute, serves
from annotation.api.v1.corpora import ON_CORPUS, image_named
from annotation.campaigns.phrases import (
    BY_CHUNKER,
    BY_HAND,
    FROM_LAYER,
    CannotMark,
    drop_marks,
    mark_phrases,
    phrases_of,
)
from annotation.common.roles import RESEARCHER
from annotation.models import Corpus, Image
from annotation.web.corpus.browse import CORPUS_OF_ADDRESS

_TAG = "corpora"
#: Words of a caption, captions of an image, and phrases of one are no more than this.
MOST_PLACES = 32_767


class PhraseShown(serializers.Serializer[Any]):
    """A phrase: words `start` to `end` (exclusive) of a caption, counted from 0."""

    caption = serializers.IntegerField()
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    text = serializers.CharField()
    categories = serializers.ListField(child=serializers.CharField())


class PhrasesShown(serializers.Serializer[Any]):
    """The phrases that a campaign would ask about. `source` is `layer` (they came with the corpus), `marked`
    (by hand) or `found` (by the chunker); `kept` says why they cannot be marked now, "" where they can."""

    source = serializers.ChoiceField((FROM_LAYER, BY_HAND, BY_CHUNKER))  # type: ignore[assignment]
    kept = serializers.CharField()
    phrases = PhraseShown(many=True)


class PhraseField(CallFields):
    """A phrase: words `start` to `end` (exclusive) of a caption, counted from 0."""

    caption = WholeField(max_value=MOST_PLACES)
    start = WholeField(max_value=MOST_PLACES)
    end = WholeField(max_value=MOST_PLACES)


class PhrasesMarked(CallFields):
    """All phrases of an image's captions; none of them says that it has none."""

    phrases = serializers.ListField(child=PhraseField(), max_length=MOST_PLACES)


@serves(
    ApiRoute(
        route="phrases",
        method=GET,
        path="corpora/<slug:name>/images/<str:key>/phrases",
        tag=_TAG,
        opens=ON_CORPUS,
        answers=PhrasesShown,
    )
)
def phrases_show_call(call: ApiCall, corpus: Corpus, key: str) -> dict[str, Any]:
    """Show which phrases of an image a campaign would ask about, and where they come from."""
    return phrases_plain(image_named(corpus, key))


@serves(
    ApiRoute(
        route="phrases",
        method=POST,
        path="corpora/<slug:name>/images/<str:key>/phrases",
        tag=_TAG,
        opens=On(CORPUS_OF_ADDRESS, (RESEARCHER,)),
        body=PhrasesMarked,
        answers=PhrasesShown,
        refuses=(CannotMark,),
        example={
            "phrases": [{"caption": 0, "start": 0, "end": 2}, {"caption": 0, "start": 4, "end": 6}],
        },
    )
)
def phrases_mark_call(call: ApiCall, corpus: Corpus, key: str) -> dict[str, Any]:
    """Mark the phrases of an image by hand, in place of those that are found or were marked before.

    Refused where they came with the corpus, and where a campaign that is not closed asks about them.
    """
    image = image_named(corpus, key)
    spans = [(one["caption"], one["start"], one["end"]) for one in call.data["phrases"]]
    mark_phrases(image=image, spans=spans, actor=call.account)
    return phrases_plain(image)


@serves(
    ApiRoute(
        route="phrases",
        method=DELETE,
        path="corpora/<slug:name>/images/<str:key>/phrases",
        tag=_TAG,
        opens=On(CORPUS_OF_ADDRESS, (RESEARCHER,)),
        refuses=(CannotMark,),
    )
)
def phrases_drop_call(call: ApiCall, corpus: Corpus, key: str) -> None:
    """Go back to the phrases that are found in the captions of an image."""
    drop_marks(image=image_named(corpus, key), actor=call.account)


def phrases_plain(image: Image) -> dict[str, Any]:
    """The phrases of an image as plain data."""
    found = phrases_of(image)
    return {
        "source": found.source,
        "kept": found.kept,
        "phrases": [
            {
                "caption": each.caption,
                "start": each.start,
                "end": each.end,
                "text": each.text,
                "categories": list(each.categories),
            }
            for each in found.mentions
        ],
    }
