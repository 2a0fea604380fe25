"""Drawing: a canvas that records what it shows, and everything that can be drawn on it."""
