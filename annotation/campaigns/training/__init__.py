"""What campaigns learn from: chains that are known, boxes of other programs."""
