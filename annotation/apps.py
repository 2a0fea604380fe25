"""Django's handle on the annotation app."""

from django.apps import AppConfig
from django.utils.translation import gettext

from annotation.protocol import words


class AnnotationConfig(AppConfig):
    """Annotation as Django starts it: its models, its checks, and the language of its sentences."""

    name = "annotation"
    verbose_name = "Annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Once the models are there: what `manage.py check` looks at, and how sentences are translated."""
        from annotation import checks  # noqa: F401

        words.speak(gettext)
