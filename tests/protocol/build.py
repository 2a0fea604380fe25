"""Small images for tests: mentions from a shorthand, judgments from a script."""

from annotation.protocol.image import Fold
from annotation.protocol.questions import Judgment
from annotation.protocol.state import ImageState
from annotation.protocol.terms import Box, Mention


def mentions(*captions: str) -> list[Mention]:
    """Return mentions; each caption is "words/category, words/category, ..."; "a/b" means two categories."""
    result = []
    for number, caption in enumerate(captions):
        start = 0
        for part in caption.split(","):
            words, *categories = part.strip().split("/")
            tokens = tuple(words.split())
            result.append(Mention(number, start, start + len(tokens), tokens, tuple(categories)))
            start += len(tokens) + 1
    return result


class Play:
    """Answers the open questions of one image, one at a time, and stores the judgments."""

    def __init__(self, image: list[Mention], *args, **kwargs) -> None:
        self.fold = Fold(image, *args, **kwargs)
        self.judgments: list[Judgment] = []

    @property
    def state(self) -> ImageState:
        return self.fold(self.judgments)

    def question(self, kind: str | None = None):
        return next(q for q in self.state.questions if kind is None or q.kind == kind)

    def say(
        self,
        worker: str,
        answer: str = "",
        box: Box | None = None,
        *,
        kind: str | None = None,
        flag: str = "",
    ):
        """Let `worker` answer the first open question (of `kind`)."""
        key = self.question(kind).key
        self.judgments.append(Judgment(f"j{len(self.judgments)}", key, worker, answer, box, flag))
        return self
