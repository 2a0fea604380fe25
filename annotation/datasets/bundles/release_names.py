"""Names of people and answers in a published bundle, which do not reveal the server's pseudonyms.

Names are drawn again for each bundle. An erased worker has a separate name for each image, so that their
answers cannot be linked across images; within an image the name is needed, since a worker's second vote on a
question does not count. An answer has a number, as the server's own id contains the pseudonym.
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
        """Return the answers to one image, or to one control item, under their new names, and new numbers by
        id."""
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
        """Return a question's key, in which a verdict refers to its answer by number."""
        if not kind_of(kind).judges:
            return key
        word, answer, rest = key.split("|", 2)
        return f"{word}|{numbers.get(answer, answer)}|{rest}"

    def _who(self, record: Mapping[str, Any], erased: dict[str, str]) -> dict[str, Any]:
        """Return the fields of who answered, without the words of erased people."""
        pseudonym = record["worker"]
        if pseudonym in self._models:
            return {"worker": self._models[pseudonym]}
        if pseudonym in self._workers:
            return {"worker": self._workers[pseudonym]}
        wordless: dict[str, Any] = {"text": ""} if "text" in record else {}
        if "regions" in record:
            wordless["regions"] = [{**region, "text": ""} for region in record["regions"]]
        return {"worker": erased.setdefault(pseudonym, f"erased-{len(erased) + 1}"), **wordless}
