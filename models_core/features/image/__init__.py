"""Pictures as words of colour, texture and shape: codebooks, counts in cells, pyramids."""
