"""The Django app configuration of evaluation."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, register
from django.utils.translation import gettext_lazy as _

from phrasebox.metrics import meteor
from phrasebox.metrics.table import METRIC_FOLDERS


def check_registries(app_configs: Sequence[Any] | None, **options: Any) -> list[CheckMessage]:
    """Return the messages of `evaluation.checks`. That module imports all of evaluation, so it is only
    imported when Django runs its checks."""
    from evaluation import checks

    return list(checks.lacking_entries())


class EvaluationConfig(AppConfig):
    """The evaluation app: registers its part of the pages, of backups and of the periodic work."""

    name = "evaluation"
    verbose_name = "Evaluation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register a site's additions, the checks, and the app's parts elsewhere, once models are loaded."""
        from annotation.backups import contents
        from annotation.campaigns import setting_checks
        from annotation.checks import REGISTRIES
        from annotation.datasets import corpus_uses, deleting
        from annotation.jobs import schedule  # its models are only available here
        from annotation.web.common import access, first_steps, parts
        from evaluation.selectors import runs_exist
        from evaluation.services.batches import scheduler
        from evaluation.services.features import store
        from evaluation.services.model_annotators.schedule import train_model_annotators
        from evaluation.services.model_annotators.stored_proposers import why_no_proposer
        from evaluation.services.stale_work import remove_stale_work
        from evaluation.services.unfinished import remove_unfinished_of_corpus

        register(check_registries, REGISTRIES)
        METRIC_FOLDERS.add_packages(settings.METRIC_PACKAGES)
        METRIC_FOLDERS.load()
        if settings.METHOD_PACKAGES:
            # It imports numpy: not loaded where no site uses it.
            from models_core.estimators.discovery import load_methods

            for package in settings.METHOD_PACKAGES:
                load_methods(package)
        meteor.configure_meteor(java_home=settings.JAVA_HOME, jar=settings.METEOR_JAR)
        parts.add_part(
            parts.NavigationPart(
                "evaluation", _("Evaluation"), "evaluation:systems", access.RUNNING, corpora=True
            ),
            after="campaign",
        )
        first_steps.add_first_use(
            first_steps.FirstUse(
                _("To compare systems that exist, no campaign is needed: bring their runs."),
                "evaluation:bring",
                _("Add a system"),
                runs_exist,
            )
        )
        corpus_uses.add_corpus_use(store.sets_in_words)
        setting_checks.add_setting_check("model_annotator.system", why_no_proposer)
        deleting.add_corpus_cleaner(remove_unfinished_of_corpus)
        contents.add_folders(
            "collections",
            "features",
            "model_annotators",
            "parses",
            "proposers",
            "reports",
            "sources",
            "systems",
        )
        schedule.add_schedule_entry(schedule.Periodic("ask_next_waves", 60, scheduler.ask_next_rounds))
        schedule.add_schedule_entry(schedule.Periodic("train_model_annotators", 60, train_model_annotators))
        schedule.add_schedule_entry(schedule.Periodic("remove_stale_work", 3600, remove_stale_work))
