"""Django's handle on the evaluation app."""

from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from evaluation.metrics import meteor


class EvaluationConfig(AppConfig):
    """Evaluation as Django starts it: its part of the pages, of backups and of what runs by the clock."""

    name = "evaluation"
    verbose_name = "Evaluation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from annotation.backups import contents
        from annotation.jobs import schedule  # its rows are there only now
        from annotation.web.common import access, parts
        from evaluation.services.batches import scheduler

        meteor.look_in(java_home=settings.JAVA_HOME, jar=settings.METEOR_JAR)
        parts.add(
            parts.Part("evaluation", _("Evaluation"), "evaluation:systems", access.RUNNING, corpora=True),
            after="campaign",
        )
        contents.add("reports", "sources", "systems")
        schedule.add(schedule.Periodic("ask_next_waves", 60, scheduler.ask_next_waves))
