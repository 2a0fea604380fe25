"""What a WSGI server calls."""

import os

from django.core.wsgi import get_wsgi_application

from config.lane import Lane

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = Lane(get_wsgi_application())
