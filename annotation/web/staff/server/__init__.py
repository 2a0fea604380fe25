"""Pages about the server itself: its state, and whom it tells of what happens."""
