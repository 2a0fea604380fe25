"""Pages that create a campaign step by step: its draft, the marking of a test, a preview of the tasks; and
those that make a draft from a campaign, or continue after a pilot."""
