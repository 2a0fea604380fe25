"""Methods that tag images: the bilinear map of structured listwise tagging, and baselines."""
