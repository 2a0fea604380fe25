"""The API: what the pages do, for programs. docs/annotators.md has the form of every request."""
