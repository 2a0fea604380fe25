"""The WSGI application."""

import os

from django.core.wsgi import get_wsgi_application

from config.single_thread_worker import SingleThreadWorker, Utf8Only

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = Utf8Only(SingleThreadWorker(get_wsgi_application()))
