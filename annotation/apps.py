"""Django's handle on the annotation app."""

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = "Annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Once the models are there: what `manage.py check` is to look at."""
        from annotation import checks  # noqa: F401
