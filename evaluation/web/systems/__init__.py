"""The pages of systems: the list, training, uploading, and predicting."""
