"""Backups: all that is kept in one file, and back again.

A backup holds the database, the folders of `contents`, and the list of erasures. `making.backup` writes one
while the server runs; `restoring.restore_backup` puts one in the place of what stands, when nothing runs.
"""

from phrasebox.errors import PhraseboxError


class BackupError(PhraseboxError):
    """A backup that cannot be made, or cannot be restored; one line with the remedy."""
