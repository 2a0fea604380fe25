"""Backups: all stored data in one file, and its restoration.

A backup contains the database, the folders of `contents`, and the list of erasures. `making.backup` writes
one while the server runs; `restoring.restore_backup` replaces the current data by one, when nothing runs.
"""

from phrasebox.errors import PhraseboxError


class BackupError(PhraseboxError):
    """A backup that cannot be made, or cannot be restored; one line with the remedy."""
