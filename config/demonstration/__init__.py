"""The parts of the demonstration, besides the commands that it calls."""
