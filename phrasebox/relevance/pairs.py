"""Answers about pairs of query and document, wherever they come from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """All answers about one pair: an image and a caption, or a keyword and a caption.

    `query` and `document` are ids as the source writes them; for image and caption the image is
    the query. `grades` are the answers on the source's scale (no is 0 and yes is 1). `judges`
    names who gave each, in the same order; it is empty where the source does not say, and the
    order of `grades` then means nothing.
    """

    query: str
    document: str
    grades: tuple[float, ...]
    judges: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """The mean answer, on the source's scale."""
        return sum(self.grades) / len(self.grades)
