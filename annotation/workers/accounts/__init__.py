"""Accounts of staff: the first one, granting and revoking roles, inviting staff."""
