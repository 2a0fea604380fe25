"""How long captions are: an operation, in one module."""
