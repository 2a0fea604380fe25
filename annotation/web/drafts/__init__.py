"""Pages on which a campaign is opened step by step: its draft, the marking of a test, a preview as workers
see it; and those that make a draft of a campaign, or go on after a pilot."""
