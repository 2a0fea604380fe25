"""What a published bundle calls people and answers: nothing of it leads back to a pseudonym of the server.

Names are drawn anew for each bundle. Somebody who was erased has no name that goes beyond one image, so that
their answers cannot be followed from image to image; within an image it is needed, since nobody's second vote
on a question counts. An answer is called by a number, as the server's own id is made of the pseudonym.
"""

import secrets
from collections.abc import Mapping
from typing import Any

from annotation.models import Campaign, Worker
from annotation.protocol.kinds import kind_of


class ReleaseNames:
    """The names of one bundle."""

    def __init__(self, campaign: Campaign) -> None:
        workers = Worker.objects.filter(judgments__campaign=campaign).distinct().order_by("pk")
        rows = workers.values_list("pseudonym", "kind", "model_annotator__name", "erased_at")
        people = [name for name, kind, _, erased in rows if kind == Worker.PERSON and erased is None]
        secrets.SystemRandom().shuffle(people)
        self._workers = {name: f"worker-{number}" for number, name in enumerate(people, 1)}
        self._models = {name: model for name, kind, model, _ in rows if kind == Worker.MODEL}
        self._answers = 0

    def of_image(self, records: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, int]]:
        """The answers to one image, or to one control item, under their new names; id -> new number."""
        numbers: dict[str, int] = {}
        erased: dict[str, str] = {}
        released = []
        for record in records:
            self._answers += 1
            numbers[record["id"]] = self._answers
            released.append(
                {
                    **record,
                    **self._who(record, erased),
                    "id": self._answers,
                    "key": self.key(record["kind"], record["key"], numbers),
                    "at": record["at"][:10],
                }
            )
        return released, numbers

    @staticmethod
    def key(kind: str, key: str, numbers: Mapping[str, int]) -> str:
        """A question's key, in which a verdict names the answer that it is about by its number."""
        if not kind_of(kind).judges:
            return key
        word, answer, rest = key.split("|", 2)
        return f"{word}|{numbers.get(answer, answer)}|{rest}"

    def _who(self, record: Mapping[str, Any], erased: dict[str, str]) -> dict[str, Any]:
        """Who answered; of people who were erased the words are not passed on."""
        pseudonym = record["worker"]
        if pseudonym in self._models:
            return {"worker": self._models[pseudonym]}
        if pseudonym in self._workers:
            return {"worker": self._workers[pseudonym]}
        wordless: dict[str, Any] = {"text": ""} if "text" in record else {}
        if "regions" in record:
            wordless["regions"] = [{**region, "text": ""} for region in record["regions"]]
        return {"worker": erased.setdefault(pseudonym, f"erased-{len(erased) + 1}"), **wordless}
