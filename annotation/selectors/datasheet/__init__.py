"""What a datasheet says of a dataset in figures: how it was made, by whom, and how far people agreed."""
