#!/usr/bin/env python
"""Django's command line for this project."""

import os
import sys


def main() -> None:
    """Run the command in the arguments; exit with one line if that is impossible."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ModuleNotFoundError:
        sys.exit(
            "the server's packages are not installed: pip install -r requirements.txt -c constraints.txt"
        )
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # An operator's error: without a traceback.
        sys.exit(str(error))


if __name__ == "__main__":
    main()
