"""Tables: judgments, qrels, systems, runs, captions, localizations, tags, batches, reports.

Only `services` writes them.

A foreign key that is the first column of a unique constraint has no index of its own: the constraint's index
serves. Rows that are being written stay invisible until one UPDATE sets `published`.
"""

from evaluation.models.batches_and_reports import Batch, BatchQueries, BatchRun, Report, ReportRun
from evaluation.models.judged import JudgmentSet, PairAnswers, QrelsQueries, QrelsRow, QrelsSnapshot
from evaluation.models.predictions import (
    CaptionSet,
    LocalizationSet,
    PhraseDetections,
    PhraseLocalization,
    TaggedImage,
    TagSet,
    WrittenCaption,
)
from evaluation.models.ranked import Ranking, Run, SeenImages, System
