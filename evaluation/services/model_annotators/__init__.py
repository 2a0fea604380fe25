"""What teaches the machines of campaigns: from finished images, or from a stored proposer."""
