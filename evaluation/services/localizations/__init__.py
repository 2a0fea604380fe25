"""Localizations: where systems find phrases in pictures; made, read, written as files, scored."""
