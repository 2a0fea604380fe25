"""Pages about people, for admins of the whole server: accounts, one account, and the audit."""
