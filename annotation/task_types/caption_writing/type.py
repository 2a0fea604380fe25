"""Write a sentence that describes a picture, after a test of spelling and grammar.

Hodosh et al. 2013, section 2.3: five captions an image, written by people who passed such a test.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.protocol.questions import Answer
from annotation.task_types.base import TASK_TYPES, BadAnswer, Choice, Page, TaskType, text_in
from annotation.task_types.caption_writing.rules import (
    CAPTION_WRITING,
    FEWEST_CAPTION_WORDS,
    MOST_CAPTION_WORDS,
    SPELLING,
    sentence_words,
)
from annotation.task_types.displayed import DisplayedImage

#: Maximum characters of a caption; a campaign sets how many words it has.
LONGEST_CAPTION = 1_000
#: How a caption was written, as its page measures it: characters that were pasted, seconds until the first
#: key, and from there to the last one; and the largest of these numbers.
HOW_WRITTEN, MOST_MEASURED = ("pasted", "first_key", "typing"), 100_000
_Measured = Annotated[float, Field(ge=0, le=MOST_MEASURED)]


class CaptionWriting(TaskType):
    """A picture, and a field for one sentence; in the test, a sentence that is correct or not.

    Content: {"fewest_words": number, "most_words": number}, or in the test {"sentence": text}; the answer's:
    {"text": text}, with HOW_WRITTEN as far as it is known.
    """

    key = CAPTION_WRITING
    longest = LONGEST_CAPTION
    task_fields = {"sentence": str | None, FEWEST_CAPTION_WORDS: int | None, MOST_CAPTION_WORDS: int | None}
    answer_fields = {
        "text": Annotated[str, Field(max_length=LONGEST_CAPTION)],
        **dict.fromkeys(HOW_WRITTEN, _Measured),
    }
    title = gettext_lazy("Describe a picture")
    summary = gettext_lazy("A picture: write one sentence that says what it shows.")
    name = gettext_lazy("caption writing")
    question_words = gettext_lazy("describe the picture")
    yields = gettext_lazy("new sentences about each picture, in English")
    answer_words = {
        "written": gettext_lazy("wrote a sentence"),
        "correct": gettext_lazy("well written"),
        "incorrect": gettext_lazy("with a mistake"),
    }
    choices = (
        Choice("written", gettext_lazy("Send this sentence"), gettext_lazy("one sentence, nothing invented")),
    )
    test_choices = (
        Choice("correct", gettext_lazy("Well written"), gettext_lazy("no mistake in spelling or grammar")),
        Choice("incorrect", gettext_lazy("There is a mistake"), gettext_lazy("in spelling or in grammar")),
    )

    def page(self, content: Mapping[str, Any], image: DisplayedImage) -> Page:
        return Page(choices=self.choices_for(content), about=content.get("sentence", ""))

    def choices_for(self, content: Mapping[str, Any]) -> tuple[Choice, ...]:
        return self.test_choices if "sentence" in content else self.choices

    def api_content(
        self, content: Mapping[str, Any], image: Callable[[DisplayedImage], Any]
    ) -> dict[str, Any]:
        return {name: content.get(name) for name in self.task_fields}

    def limits(self, number: Callable[[str], int]) -> str:
        return _("A sentence has %(fewest)d to %(most)d words.") % {
            "fewest": number(FEWEST_CAPTION_WORDS),
            "most": number(MOST_CAPTION_WORDS),
        }

    def parse(self, data: Mapping[str, Any]) -> Answer:
        answer = super().parse(data)
        if answer.flag or answer.answer in SPELLING:
            return answer
        text = " ".join(text_in(data, "text").split())
        if len(text) > LONGEST_CAPTION:
            raise BadAnswer(
                "text",
                _("This has %(length)d characters: write one sentence of at most %(most)d.")
                % {"length": len(text), "most": LONGEST_CAPTION},
            )
        if not sentence_words(text):
            raise BadAnswer("text", _("Write one whole sentence."))
        return Answer(answer.answer, content={"text": text, **_how_written(data)})

    def words_of_item(self, content: Mapping[str, Any], known: Any) -> tuple[str, ...]:
        return (content["sentence"],)

    def from_form(self, form: Mapping[str, str]) -> dict[str, Any]:
        data = {**super().from_form(form), "text": form.get("text", "")}
        for name in HOW_WRITTEN:
            # What a page could not measure is left out.
            with suppress(ValueError):
                if 0 <= (value := float(form.get(name, ""))) <= MOST_MEASURED:
                    data[name] = value
        return data

    def to_form(self, answer: Answer) -> dict[str, str]:
        content = answer.content or {}
        measured = {name: str(content.get(name, "")) for name in HOW_WRITTEN}
        return {**super().to_form(answer), "text": content.get("text", ""), **measured}


def _how_written(data: Mapping[str, Any]) -> dict[str, float]:
    """Return what was measured. Raises BadAnswer."""
    measured = {}
    for name in HOW_WRITTEN:
        value = data.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_MEASURED:
            raise BadAnswer(
                name,
                _("“%(field)s” must be a number from 0 to %(most)d.")
                % {"field": name, "most": MOST_MEASURED},
            )
        measured[name] = round(float(value), 1)
    return measured


TASK_TYPES.register(CaptionWriting.key, CaptionWriting())
