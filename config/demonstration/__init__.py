"""What the demonstration is made of, besides the commands that it calls."""
