"""Model annotators learn by themselves: once enough further images are finished, a job is asked for. Another
one has a model annotator propose for images that were opened since it learnt, or came into its share.

Called every minute by the periodic work. It imports nothing that is slow to import: every command does.
"""

from datetime import timedelta

from annotation import jobs
from annotation.campaigns.model_annotators import PROPOSE_JOB, TRAIN_JOB, is_training, newest_jobs
from annotation.common import database
from annotation.selectors.jobs import Job

#: How long a model annotator waits whose job failed.
AGAIN_AFTER = timedelta(minutes=10)


def train_model_annotators() -> int:
    """Ask for a job for each model annotator that is to learn now, or lacks boxes for images; how many. What
    deleted model annotators learnt is removed."""
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
            # One job at a time is about a model annotator, and none while it is trained by command.
            if any(job.state in Job.LIVE for job in newest.values()) or is_training(campaign, annotator):
                continue
            job, training = newest.get(kind), newest.get(TRAIN_JOB)
            if kind == PROPOSE_JOB and job is not None and training is not None and training.pk > job.pk:
                job = None  # What was asked of an earlier training run says nothing of this one.
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
