"""Names stored in rows, queues and signed links: they stay, even if a module moves."""

from __future__ import annotations

from annotation.backups.keys import BROKEN
from annotation.jobs.registry import JOB_KINDS, job_kind_named
from config.celery import app


def test_the_names_of_celery_tasks_stay() -> None:
    app.loader.import_default_modules()
    names = {name for name in app.tasks if not name.startswith("celery.")}
    assert names == {"annotation.run_job", "annotation.periodic", "evaluation.add_up_spans"}
    assert set(app.conf.task_routes) == {"annotation.periodic"}


def test_the_names_of_job_kinds_stay() -> None:
    job_kind_named("withdraw_answers")
    assert set(JOB_KINDS.keys()) >= {
        *(
            "change_settings",
            "withdraw_answers",
            "restore_answers",
            "export_dataset",
            "open_images",
            "refresh_layer",
        ),
        *("send_letter", "send_staff_invitation"),
        *(
            "build_report",
            "collect_judgments",
            "extract_features",
            "freeze_qrels",
            "next_round",
            "open_batch",
        ),
        *("rank", "settle_batch", "reassign_pages", "train_system"),
    }


def test_the_salts_of_what_is_signed_stay() -> None:
    assert set(BROKEN) >= {
        *("annotation.invitation", "annotation.staff_invitation", "annotation.known_browser"),
        *("annotation.letters", "annotation.image", "annotation.mturk", "annotation.picture"),
        *("annotation.throttle", "annotation.second_factor"),
    }
