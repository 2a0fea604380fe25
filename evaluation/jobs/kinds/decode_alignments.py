"""Writing what an alignment says of captions as a layer."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases
from evaluation.services.alignments.decoding import DecodeRequest, decode_alignments


@job_kind(
    "decode_alignments",
    title=gettext_lazy("Aligning words with regions"),
    refusals=(UnknownName, OSError, ValueError),
)
def decode_alignments_job(
    progress: JobProgress,
    *,
    system: str,
    layer: str,
    split: str = "test",
    beta: float = 1.0,
    gold: str = "",
) -> dict[str, Any]:
    """Write the layer; a killed job starts again from the first image. The layer is seen once it is whole."""
    wanted = DecodeRequest(system=system, layer=layer, split=split, beta=beta, gold=gold)
    return decode_alignments(wanted, progress=Phases(progress)).as_dict()
