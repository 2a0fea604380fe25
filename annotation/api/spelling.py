"""Which words look misspelt: asked by the page on which captions are written, before one is sent."""

from django.http import HttpRequest

from annotation.api.problems import too_often
from annotation.api.requests import worker_call
from annotation.api.worker_shapes import TextRequest, UnknownWords
from annotation.models import Campaign
from annotation.selectors import spelling
from annotation.selectors.scopes import campaigns_to_work_on
from annotation.workers.rate_limit import Limit, Try, attempt

#: Texts that a worker may have looked at in a minute: a page asks at each pause of whoever types.
LOOKS = Limit("spelling", 240, 60)


@worker_call(
    "worker_spelling",
    "Look for misspelt words in a text",
    asks=lambda: TextRequest,
    errors=(400, 429),
    example={"text": "Two dgos run."},
)
def look_up_words(request: HttpRequest, worker: int, text_request: TextRequest) -> UnknownWords:
    """The unknown words of `text`, with suggestions; words of the `campaign`'s corpus count as known.

    A campaign that this worker may not work on counts as none: nobody asks here what its captions say.
    """
    if seconds := attempt(Try(LOOKS, str(worker))):
        raise too_often(seconds)
    begun = campaigns_to_work_on(worker).exclude(state=Campaign.DRAFT)
    corpus = begun.filter(name=text_request.campaign).values_list("corpus", flat=True).first()
    words = spelling.misspelt_words(text_request.text, corpus=corpus)
    return {"unknown": [{"word": word.word, "suggestions": list(word.suggestions)} for word in words]}
