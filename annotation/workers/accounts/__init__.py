"""Accounts of staff: the first one, roles granted and revoked, people invited to be staff."""
