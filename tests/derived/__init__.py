"""What is derived and kept is never read stale: docs/derived.md lists it."""
