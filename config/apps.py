"""The Django app configuration of the project itself: its commands, and Celery where there is a broker."""

import importlib

from django.apps import AppConfig
from django.conf import settings


class ProjectConfig(AppConfig):
    """Creates the Celery application: tasks bind to the one that exists when they are sent."""

    name = "config"

    def ready(self) -> None:
        """Create it only where something is sent: its import takes as long as a light command."""
        if settings.REDIS_URL:
            importlib.import_module("config.celery")
