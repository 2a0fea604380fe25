"""Derived and stored data are never stale: docs/derived.md lists them."""
