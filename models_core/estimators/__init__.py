"""What learns: one file or folder for each method."""
