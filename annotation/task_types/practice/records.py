"""What an item of practice is made of."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.task_types.base import Words
from annotation.task_types.practice.scenes import Corners


@dataclass(frozen=True, slots=True)
class Item:
    """One question about a scene, what is right, and why.

    `mentions` ("caption:start-end"), `boxes` (accepted so far) and `pending` (the one in question) are what
    the questions about chains show; `sentence` is what graded relevance and the test of spelling show;
    `blocks` a relevance page's: of each scene its sentences, and whether they fit. `right` is the answer's
    word; it is "" where nothing can be graded: then `models` are sentences, or `regions` boxes with their
    words, that would do. The right box of a drawing comes from the scene's gold.
    """

    scene: str
    why: Words
    right: str = ""
    mentions: tuple[str, ...] = ()
    boxes: tuple[Corners, ...] = ()
    pending: Corners | None = None
    sentence: str = ""
    blocks: tuple[tuple[str, tuple[tuple[str, bool], ...]], ...] = ()
    models: tuple[str, ...] = ()
    regions: tuple[tuple[Corners, str], ...] = ()
