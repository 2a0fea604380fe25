"""What a WSGI server calls."""

import os

from django.core.wsgi import get_wsgi_application

from config.plain import PlainText
from config.single_thread_worker import SingleThreadWorker

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = PlainText(SingleThreadWorker(get_wsgi_application()))
