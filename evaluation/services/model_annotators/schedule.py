"""Scheduling of model annotators: queue a training job once enough further images are finished, and a job
that proposes boxes for images that were opened, or came into its share, since the last training.

The periodic work calls it every minute. It imports nothing that is slow to import, since every command
imports it.
"""

from datetime import timedelta

from annotation import jobs
from annotation.campaigns.model_annotators import PROPOSE_JOB, TRAIN_JOB, is_training, newest_jobs
from annotation.common import database
from annotation.selectors.jobs import Job

#: How long to wait before a model annotator's failed job is repeated.
AGAIN_AFTER = timedelta(minutes=10)


def train_model_annotators() -> int:
    """Queue a job for each model annotator that is due for training, or lacks boxes for images; return their
    number. Also removes the training results of deleted model annotators."""
    from evaluation.services.model_annotators.training import (
        forget_deleted,
        model_annotators_to_propose,
        model_annotators_to_train,
    )

    forget_deleted()
    jobs_created = 0
    for kind, candidates in (
        (TRAIN_JOB, model_annotators_to_train()),
        (PROPOSE_JOB, model_annotators_to_propose()),
    ):
        for campaign, annotator in candidates:
            newest = newest_jobs(campaign, annotator)
            # A model annotator has one job at a time, and none while a command trains it.
            if any(job.state in Job.LIVE for job in newest.values()) or is_training(campaign, annotator):
                continue
            job, training = newest.get(kind), newest.get(TRAIN_JOB)
            if kind == PROPOSE_JOB and job is not None and training is not None and training.pk > job.pk:
                job = None  # A job that belonged to an earlier training run does not matter for this one.
            if job is not None and job.state == Job.CANCELLED:
                continue
            if job is not None and job.state == Job.FAILED and job.finished_at is not None:
                if database.now() - job.finished_at < AGAIN_AFTER:
                    continue
            arguments = {"model_annotator": annotator}
            if kind == TRAIN_JOB:
                arguments["campaign"] = campaign.name
            jobs.enqueue(kind=kind, arguments=arguments, campaign=campaign)
            jobs_created += 1
    return jobs_created
