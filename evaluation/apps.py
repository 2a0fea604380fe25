"""Django's handle on the evaluation app."""

from django.apps import AppConfig
from django.conf import settings

from evaluation.metrics import meteor


class EvaluationConfig(AppConfig):
    name = "evaluation"
    verbose_name = "Evaluation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        meteor.look_in(java_home=settings.JAVA_HOME, jar=settings.METEOR_JAR)
