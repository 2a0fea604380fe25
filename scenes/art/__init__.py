"""Drawing: a canvas that knows what it shows, and everything that can be drawn on it."""
