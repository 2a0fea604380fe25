"""Training data of campaigns: known chains, and boxes of other programs."""
