"""Accounts of staff: the first one, roles granted and taken, people invited to be staff."""
