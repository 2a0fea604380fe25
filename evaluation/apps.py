"""The Django app configuration of evaluation."""

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import register
from django.utils.translation import gettext_lazy as _

from annotation.common.by_name import function_named


class EvaluationConfig(AppConfig):
    """The evaluation app: registers its part of the pages, of backups and of the periodic work.

    Functions have dotted names, so that a process loads no numerical library before it needs one.
    """

    name = "evaluation"
    verbose_name = "Evaluation"
    default_auto_field = "django.db.models.BigAutoField"

    #: See `corpus_uses` and `deleting` of annotation.datasets, `annotation.campaigns.setting_checks`,
    #: `annotation.jobs.schedule`.
    corpus_uses = ("evaluation.services.features.store.sets_in_words",)
    corpus_cleaners = ("evaluation.services.unfinished.remove_unfinished_of_corpus",)
    setting_checks = (
        ("model_annotator.system", "evaluation.services.model_annotators.stored_proposers.why_no_proposer"),
    )
    periodic = (
        ("ask_next_rounds", 60, "evaluation.services.batches.scheduler.ask_next_rounds"),
        (
            "train_model_annotators",
            60,
            "evaluation.services.model_annotators.schedule.train_model_annotators",
        ),
        ("remove_stale_work", 3600, "evaluation.services.stale_work.remove_stale_work"),
    )

    def ready(self) -> None:
        """Register a site's additions, the checks, and the app's parts elsewhere, once models are loaded."""
        from annotation.apps import REGISTRIES
        from annotation.backups import contents
        from annotation.web.common import access, first_steps, parts

        register(function_named("evaluation.checks.registry_errors"), REGISTRIES)
        _configure_numerics()
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
                function_named("evaluation.selectors.runs_exist"),
            )
        )
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


def _configure_numerics() -> None:
    """Load a site's measures and methods, and set where METEOR is; not imported where the settings say
    nothing."""
    if settings.METRIC_PACKAGES:
        from phrasebox.metrics.table import METRIC_FOLDERS

        METRIC_FOLDERS.add_packages(settings.METRIC_PACKAGES)
        METRIC_FOLDERS.load()
    if settings.METHOD_PACKAGES:
        from models_core.estimators.discovery import load_methods

        for package in settings.METHOD_PACKAGES:
            load_methods(package)
    if settings.JAVA_HOME or settings.METEOR_JAR:
        from phrasebox.metrics import meteor

        meteor.configure_meteor(java_home=settings.JAVA_HOME, jar=settings.METEOR_JAR)
