"""What admins read of people: their accounts, and the audit."""
