"""Training the model annotators of campaigns, from finished images or from a stored proposer."""
