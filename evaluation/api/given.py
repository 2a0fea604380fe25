"""Fields of calls that are made by hand."""

from __future__ import annotations

from annotation.api.rest.fields import TextField


class TrainedOnField(TextField):
    """What whoever adds something declares that it learned from."""

    def __init__(self) -> None:
        text = "In your words; CORPUS:SPLIT of a corpus here, whose images are then counted."
        super().__init__(required=False, max_length=500, help_text=text)
