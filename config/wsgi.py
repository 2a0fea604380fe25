"""What a WSGI server calls."""

import os

from django.core.wsgi import get_wsgi_application

from config.lane import Lane
from config.plain import PlainText

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = PlainText(Lane(get_wsgi_application()))
