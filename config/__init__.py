"""Settings, URLs and entry points."""
