"""Covariances of a training, computed together with other Celery workers.

The training asks for help and starts computing at once. Idle workers sum spans of its pairs too. Help is
optional: if no worker is idle, the broker cannot be reached or a worker is killed, the training sums the rest
itself. See `models_core.estimators.shared_pairs`.
"""

import logging
import shutil
from dataclasses import dataclass
from pathlib import Path

import celery
import numpy as np
from django.conf import settings
from kombu.exceptions import OperationalError
from numpy.typing import NDArray

from annotation.jobs.rows import by_broker
from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW, View
from models_core.estimators.covariances import ADDING_UP, PairedSums, RowMap, sums_of_pairs
from models_core.estimators.shared_pairs import SharedPairs, write_pairs
from models_core.features.text.phrases import PhraseRows
from models_core.phase_cache import PhaseProgress

_log = logging.getLogger(__name__)

#: The name of the Celery task of helpers.
ADD_UP = "evaluation.add_up_spans"
#: The number of multiplications from which pairs are shared: half a minute of one core.
WORTH_SHARING = 1e12
#: The largest number of workers asked for help.
MOST_HELPERS = 8


@dataclass(frozen=True)
class SharedSums:
    """Sums pairs in a subfolder of `folder`, in DATA_DIR; reports to `progress`."""

    folder: Path
    progress: PhaseProgress
    worth: float = WORTH_SHARING

    def __call__(
        self,
        images: View,
        captions: View,
        image_of: NDArray[np.intp],
        *,
        described: RowMap | None = None,
    ) -> PairedSums:
        """Return the sums over all captions with their images; `described` maps rows to the values to sum."""
        x, y = images.shape[1], captions.shape[1]
        # Phrases are described lazily; written to files they would take more space than everything else.
        if isinstance(captions, PhraseRows):
            return sums_of_pairs(images, captions, image_of, described=described)
        if described is not None:
            x = described(IMAGE_VIEW, images[:1]).shape[1]
            y = described(CAPTION_VIEW, captions[:1]).shape[1]
        if captions.shape[0] * (x * x / 2 + x * y + y * y / 2) < self.worth:
            return sums_of_pairs(images, captions, image_of, described=described)
        pairs = write_pairs(self.folder, images, captions, image_of, described=described)
        ask_for_help(pairs.folder, min(MOST_HELPERS, len(pairs.missing) - 1))
        try:
            sum_of_pairs = pairs.total(lambda done, total: self.progress(ADDING_UP, done, total))
        except OSError:  # such as a full disk: free what we have written
            shutil.rmtree(pairs.folder, ignore_errors=True)
            raise
        shutil.rmtree(pairs.folder, ignore_errors=True)
        return sum_of_pairs


def ask_for_help(folder: Path, helpers: int) -> None:
    """Ask `helpers` workers to take spans of the pairs in `folder`, which is in DATA_DIR."""
    if helpers < 1 or not by_broker():
        return
    relative_path = folder.resolve().relative_to(Path(settings.DATA_DIR).resolve()).as_posix()
    try:
        tasks = (celery.current_app.signature(ADD_UP, args=[relative_path]) for _ in range(helpers))
        celery.group(tasks).apply_async()
    except OperationalError as error:
        _log.warning("no help with covariances: the broker cannot be reached (%s)", error)


def help_with(relative_path: str) -> int:
    """Take spans of the pairs in the folder `relative_path` of DATA_DIR; return their number, 0 if they
    are done."""
    root = Path(settings.DATA_DIR).resolve()
    folder = (root / relative_path).resolve()
    if not folder.is_relative_to(root):
        raise ValueError(f"{relative_path!r} is not in DATA_DIR")
    try:
        return SharedPairs(folder).take_spans()
    except FileNotFoundError:
        return 0  # finished without us, or cancelled
