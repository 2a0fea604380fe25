"""`python -m tests.apart [--seeds 5] [--small]`: how well control items can be distinguished from others.

What watchers of a seed received is stored in --keep: an interrupted run resumes there, and several runs can
share it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path


def main() -> None:
    """Run the measurement, on a database of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--small", action="store_true", help="a quarter of the workers")
    parser.add_argument("--without-timing", action="store_true", help="do not let the learner see seconds")
    parser.add_argument("--keep", type=Path, help="a folder for what was seen")
    parser.add_argument("--tasks", nargs="*", default=None, help="entities, relevance, graded, tags")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "config.settings"}
        import django

        django.setup()
        from django.conf import settings
        from django.core.management import call_command
        from django.test.utils import setup_test_environment

        settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
        setup_test_environment()
        call_command("migrate", verbosity=0)
        from annotation.task_types import discovery
        from tests.apart import report

        discovery.load_kind_modules("simulate")

        report.run(
            range(options.first, options.first + options.seeds),
            tasks=options.tasks,
            small=options.small,
            timing=not options.without_timing,
            folder=options.keep or Path(folder),
        )


if __name__ == "__main__":
    main()
