"""Django app configuration of annotation."""

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import Tags, register
from django.db.models.signals import pre_migrate
from django.utils.translation import gettext

from annotation.common import database
from annotation.common.by_name import function_named
from annotation.common.operations import OPERATION_FOLDERS
from annotation.formats.base import FORMAT_FOLDERS
from annotation.protocol import words
from annotation.task_types import discovery

#: The tag of the checks of registries.
REGISTRIES = "registries"


class AnnotationConfig(AppConfig):
    """The annotation app: its models, its checks, and the language of its sentences."""

    name = "annotation"
    verbose_name = "Annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register kinds of questions, system checks, and translation, after the models are loaded."""
        from annotation.management.command_names import offer_operations
        from annotation.web.common import parts

        register(function_named("annotation.checks.task_types"), Tags.templates, REGISTRIES)
        register(function_named("annotation.checks.corpus_formats"), REGISTRIES)
        register(function_named("annotation.checks.job_kinds"), REGISTRIES)

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
