"""Django app configuration of annotation."""

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import pre_migrate
from django.utils.translation import gettext

from annotation.common import database
from annotation.common.operations import OPERATION_FOLDERS
from annotation.formats.base import FORMAT_FOLDERS
from annotation.protocol import words
from annotation.task_types import discovery


class AnnotationConfig(AppConfig):
    """The annotation app: its models, its checks, and the language of its sentences."""

    name = "annotation"
    verbose_name = "Annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register kinds of questions, system checks, and translation, after the models are loaded."""
        from annotation import checks  # noqa: F401
        from annotation.management.operations import offer_operations
        from annotation.web.common import parts

        FORMAT_FOLDERS.add_packages(settings.FORMAT_PACKAGES)  # loaded with FORMATS
        discovery.add_packages(settings.TASK_TYPE_PACKAGES)
        discovery.load_kind_modules("rules")
        discovery.load_kind_modules("type")
        discovery.load_kind_modules("practice")

        OPERATION_FOLDERS.add_packages(settings.OPERATION_PACKAGES)
        if settings.OPERATION_PACKAGES:
            parts.offer_further_operations()
        offer_operations()
        words.set_translator(gettext)
        pre_migrate.connect(database.refuse_to_migrate, sender=self)
