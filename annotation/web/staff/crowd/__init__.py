"""Pages about a campaign's workers together: acts on several of them, and payments."""
